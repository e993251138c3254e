"""Examples of bad input: the same every time, or, with `make fuzz`, a hundred times as many and different
ones.
"""

import resource
from collections.abc import Callable, Iterator

import hypothesis
import pytest
from hostile_values import tried

_MOST_BYTES = 2**32

hypothesis.settings.register_profile(
    "fuzz",
    deadline=None,
    derandomize=True,
    max_examples=20,  # the same ones every time
    database=None,  # what failed becomes a test of its own
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.register_profile(
    "nightly", hypothesis.settings.get_profile("fuzz"), derandomize=False, max_examples=2000
)
hypothesis.settings.load_profile("fuzz")


@pytest.fixture(autouse=True, scope="module")
def limited() -> Iterator[None]:
    """Let no example have all the memory there is: a pickle of ten bytes may ask for 34 GB.

    Those of data sets are read where their hash is the published one alone.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Tell how many examples a test was given."""
    before = tried["examples"]
    yield
    record_property("examples", tried["examples"] - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """All of them, whichever process had them; tests of other folders have none."""
    ends = (getreport for getreport in terminalreporter.getreports("") if getreport.when == "teardown")
    count = sum(dict(end.user_properties).get("examples", 0) for end in ends)
    terminalreporter.write_line(f"{count:,} examples of bad input")
