"""Progress bar of a download."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


@contextmanager
def download_bar(console: Console) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a callback for (bytes so far, bytes in all or None) that draws a bar while the body downloads."""
    columns = (TextColumn("download"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("download", visible=False)

        def on_progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield on_progress
