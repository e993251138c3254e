"""Values that a hurried, careless or hostile user might give, and what any of them may come to."""

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from orchestrator.core.errors import ConfigError, OrchestratorError

_HANG_SECONDS = 30  # of computing: ten times what the slowest example takes

tried: Counter[str] = Counter()
"""How many `examples` this process has had."""

TEXTS = (
    *(
        "",
        " ",
        "\n",
        "a\nb",
        "a\tb",
        "\x00",
        "\x1b[2J\x1b]0;x\x07",
        "\ud800",
        "\u202eevil",
        "é",
        "\U0001d518",
    ),
    *(
        "null",
        "~",
        "NaN",
        ".nan",
        "inf",
        "-.inf",
        "1e999",
        "1e-400",
        "0x10",
        "1_000",
        "yes",
        "off",
        "True",
        "²",
    ),
    *(
        "9" * 5000,
        "../../x",
        "/etc/passwd",
        "/",
        "~nobody-here/x",
        "a" * 300,
        "a/b",
        ".",
        "..",
        "-",
        "--",
        "%s",
    ),
    *("${steps}", "${seed}", "${sweep.name}", "${oc.env:NOT_SET}", "${", "${${steps}}", "${.x}", "{}"),
    *("${oc.create:{}}", "_target_", "os.system", "!!python/object/apply:os.system [exit 1]", "'; DROP"),
    *("<script>alert(1)</script>", "[" * 3000, "{" * 3000, "(" * 3000, "[1,2", "{a:1", "a:b", "glob(*)"),
    *("range(0,9e9)", "range(0,1,0)", "interval(0,1)", "shuffle(1,2)", "choice()", "sort(1)", "float(x)"),
    *("int('x')", "str([1])", "json_str({a:1})"),
)
NUMBERS = (0, -1, 1, 2, 3, 2**31, 2**63, -(2**63), 10**30, 10**400, 1e308, 5e-324, -0.0, 1.5)

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=20))
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(), st.floats(), texts)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
"""What a YAML or JSON file may hold."""


def many(count: int) -> settings:
    """Settings of a test that gives `count` examples where others give 100."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))


@contextmanager
def outcome(*refusals: type[Exception]) -> Iterator[None]:
    """The body succeeds, or refuses in one printable line. Anything else fails the test; so does a hang.

    An error of `workloads`, which know none of ours, reaches a user as a ConfigError.
    """
    tried["examples"] += 1
    with within(_HANG_SECONDS):
        try:
            yield
        except refusals as error:
            told = str(error if isinstance(error, OrchestratorError) else ConfigError(str(error)))
            assert is_one_line(told), repr(told)


def is_one_line(text: str) -> bool:
    """Return whether a person sees the text as one line."""
    return bool(text.strip()) and text.isprintable() and len(text) < 3000


@contextmanager
def within(cpu_seconds: int) -> Iterator[None]:
    """Fail a body that computes for longer, or waits ten times as long, wherever it hangs in Python."""
    earlier = [signal.signal(value, _stop) for value in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    signal.alarm(10 * cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in zip((signal.SIGPROF, signal.SIGALRM), earlier, strict=True):
            signal.signal(each, handler)


class HangError(BaseException):
    """Error that no `except Exception` catches."""


def _stop(_signal: int, _frame: object) -> None:
    raise HangError("no end in sight")


@st.composite
def mutated(draw: Callable[[st.SearchStrategy[Any]], Any], whole: Any) -> Any:
    """A plain value with one to four places of it made nasty: replaced, taken away, or added to."""
    changed = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 4))):
        holders = [holder for holder in _holders(changed) if holder]
        if not holders:
            break
        holder = draw(st.sampled_from(range(len(holders))).map(lambda i, holders=holders: holders[i]))
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw(st.sampled_from(keys))
        match draw(st.sampled_from(("replace", "replace", "replace", "remove", "add"))):
            case "replace":
                holder[key] = draw(plain)
            case "remove":
                del holder[key]
            case "add" if isinstance(holder, dict):
                holder[draw(texts)] = draw(plain)
            case _:
                holder.append(draw(plain))
    return changed


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _holders(item)


@st.composite
def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], content: bytes) -> bytes:
    """A file cut off, with bytes of it changed, or with something between."""
    start = draw(st.integers(0, len(content)))
    match draw(st.sampled_from(("cut", "change", "insert", "drop"))):
        case "cut":
            return content[:start]
        case "change":
            new = draw(st.binary(min_size=1, max_size=8))
            return content[:start] + new + content[start + len(new) :]
        case "insert":
            return content[:start] + draw(st.binary(min_size=1, max_size=40)) + content[start:]
    return content[:start] + content[start + draw(st.integers(1, 40)) :]
