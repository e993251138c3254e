"""The bar of a download: drawn in a terminal, silent elsewhere."""

import io

from rich.console import Console

from orchestrator.terminal.download import download_bar


def drawn(*, is_terminal: bool) -> str:
    screen = io.StringIO()
    with download_bar(Console(file=screen, force_terminal=is_terminal, width=100)) as tell:
        tell(500_000, 2_000_000)
        tell(2_000_000, 2_000_000)
    return screen.getvalue()


def test_a_terminal_sees_how_much_has_arrived():
    assert "download" in drawn(is_terminal=True)
    assert "2.0/2.0 MB" in drawn(is_terminal=True)


def test_a_bar_is_not_drawn_into_a_file():
    assert drawn(is_terminal=False).strip() == ""
