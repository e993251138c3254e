"""Check on a machine with an accelerator what continuous integration cannot. `make hardware-test` runs it.

    python tools/hardware_test.py [--device auto|NAME] [--only STAGE,...] [--quick] [--out DIR]

Every stage prints its verdicts; DIR/page.md has them as a page for docs/reference/support.md. The exit code
is 1 if one failed. `--device cpu` is a dry run of this tool, and says nothing of an accelerator.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hardware.page import page_of
from hardware.session import Session
from hardware.stages import STAGES

from orchestrator.config.loader import devices_named
from orchestrator.core.device import Device
from orchestrator.core.errors import OrchestratorError
from orchestrator.execute.machine.inventory import accelerators_here, recognised
from orchestrator.train.accelerator_versions import accelerator_versions
from orchestrator.train.environment import cpu_model, framework_versions
from orchestrator.train.registry import trainer_info


def main(arguments: Sequence[str]) -> int:
    """Run the stages and write the page; return 0 if all passed, 1 if one failed, 2 for a wrong request."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="name of conf/device; auto: the first that is here")
    parser.add_argument("--only", default=",".join(STAGES), help="stages, in the order of all")
    parser.add_argument("--quick", action="store_true", help="the least of every stage")
    parser.add_argument("--out", type=Path, default=Path("hardware-test"), help="folder of records and page")
    chosen = parser.parse_args(arguments)
    stages = chosen.only.split(",")
    if unknown := [stage for stage in stages if stage not in STAGES]:
        parser.error(f"unknown stage {unknown[0]!r}; known: {', '.join(STAGES)}")
    try:
        device, driver_name = _device_named(chosen.device)
    except (OrchestratorError, KeyError) as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # as `timeout` ends it
    chosen.out.mkdir(parents=True, exist_ok=True)
    session = Session(device=device, name=driver_name, folder=chosen.out.absolute(), is_quick=chosen.quick)
    for stage in STAGES:
        if stage in stages:
            STAGES[stage](session)
    packages = trainer_info(session.trainer).packages
    page = page_of(
        session.verdicts,
        session.notes,
        device=device.name,
        driver_name=driver_name,
        versions={**framework_versions(packages), **accelerator_versions(device.kind, packages)},
        at=datetime.now(UTC),
    )
    (chosen.out / "page.md").write_text(page)
    failed = sum(not verdict.passed for verdict in session.verdicts)
    sys.stdout.write(f"{failed} of {len(session.verdicts)} checks failed; page: {chosen.out / 'page.md'}\n")
    return 1 if failed else 0


def _device_named(name: str) -> tuple[Device, str]:
    """Return a device of this machine, and its driver's name for it.

    Raises:
        OrchestratorError: no such accelerator is here.
    """
    devices = devices_named(Path.cwd())
    if name == "cpu":
        return devices["cpu"], cpu_model()
    accelerators = accelerators_here()
    here = recognised(devices.values(), accelerators)
    wanted = next(iter(here), None) if name == "auto" else name
    if wanted is None or wanted not in here:
        found = ", ".join(here) or "no accelerator that a file of conf/device names"
        raise OrchestratorError(
            f"--device {name}: this machine has {found}; python -m orchestrator doctor says more"
        )
    names = [gpu.name for gpu in accelerators.gpus if gpu.name in devices[wanted].driver_names]
    return devices[wanted], next(iter(names), str(accelerators.slice_type))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
