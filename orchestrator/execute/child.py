"""A child process that ends when its standard input does."""

import contextlib
import subprocess


def end(process: "subprocess.Popen[str]", *, seconds: float) -> None:
    """Close its standard input, and kill it if it has not ended so many seconds later."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
