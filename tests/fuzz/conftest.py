"""How many examples bad input gives: what CI has time for, or with `make fuzz` twenty times that."""

from collections.abc import Callable, Iterator

import hypothesis
import pytest
from nasty import tried

hypothesis.settings.register_profile(
    "fuzz",
    deadline=None,
    database=None,  # what failed becomes a test of its own
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.register_profile("nightly", hypothesis.settings.get_profile("fuzz"), max_examples=2000)
hypothesis.settings.load_profile("fuzz")


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Tell how many examples a test was given."""
    before = tried["examples"]
    yield
    record_property("examples", tried["examples"] - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """All of them, whichever process had them."""
    ends = (each for each in terminalreporter.getreports("") if each.when == "teardown")
    count = sum(dict(each.user_properties)["examples"] for each in ends)
    terminalreporter.write_line(f"{count:,} examples of bad input")
