"""A network of a command's own, whose loopback passes so many bits a second: Linux namespaces and `tc`."""

import subprocess
from collections.abc import Sequence

_BURST = "128kb"  # two packets of the loopback
_SHAPED = (
    'ip link set lo up && tc qdisc add dev lo root tbf rate {rate}mbit burst {burst} latency 1s && exec "$@"'
)


def shaped(command: Sequence[str], *, mbit_per_second: int) -> list[str]:
    """The command that runs another one there."""
    script = _SHAPED.format(rate=mbit_per_second, burst=_BURST)
    return ["unshare", "--map-root-user", "--net", "sh", "-c", script, "sh", *command]


def reason_against() -> str | None:
    """Explain in one line why a shaped network is unavailable here; None where it is available."""
    try:
        tried = subprocess.run(
            shaped(["true"], mbit_per_second=1000), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return None if tried.returncode == 0 else " ".join(tried.stderr.split()) or "unshare failed"
