"""The output of a script is kept without its middle, and takes no memory or disk that grows with it."""

import resource
import subprocess
import sys

from orchestrator.extensions.scripts.connection import MOST_KEPT_BYTES, BoundedOutput


def output_of(code: str, **options) -> BoundedOutput:
    output = BoundedOutput(**options)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=output.descriptor)
    output.start()
    assert process.wait() == 0
    return output


def test_a_short_output_is_whole():
    assert output_of("print('é' * 1000)").text() == "é" * 1000 + "\n"


def test_the_first_and_the_last_mib_of_a_long_output_are_kept():
    code = "from os import write; write(1, b'first'); [write(1, b'x' * 2**10) for _ in range(200 * 2**10)]"
    code += "; write(1, b'last')"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = output_of(code).text()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    head, left_out, tail = text.split("\n")
    assert (head[:5], len(head)) == ("first", MOST_KEPT_BYTES)
    assert (tail[-4:], len(tail)) == ("last", MOST_KEPT_BYTES)
    assert left_out == f"… {198 * 2**20 + 9:,} bytes left out …"
    assert grown < 30 * 1024, "kilobytes"


def test_the_beginning_is_copied_at_once_and_the_rest_at_the_end(tmp_path):
    with (tmp_path / "log").open("w+b") as log:
        code = f"print('x' * {MOST_KEPT_BYTES} + 'y' * 5, end='')"
        output = output_of(code, copy_to=log.fileno())
        output.text()
        assert (tmp_path / "log").stat().st_size == MOST_KEPT_BYTES
        output.close()
        assert (tmp_path / "log").read_bytes()[MOST_KEPT_BYTES:] == b"yyyyy"


def test_a_process_that_holds_the_pipe_does_not_block_the_reader():
    output = BoundedOutput()
    process = subprocess.Popen(["sh", "-c", "echo said; exec sleep 60"], stdout=output.descriptor)
    output.start()
    try:
        assert output.text() == "said\n"
    finally:
        process.kill()
        process.wait()
        output.close()


def write_mib(number: int) -> str:
    """Return the code that writes so many MiB, quickly."""
    return f"from os import write; piece = b'x' * 2**16; [write(1, piece) for _ in range({number} * 16)]"


def test_the_copying_takes_time_in_proportion_to_the_output_and_memory_that_does_not_grow():
    cpu_seconds, memory = {}, {}
    for number in (50, 400):
        before = resource.getrusage(resource.RUSAGE_SELF)
        output_of(write_mib(number)).close()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu_seconds[number] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        memory[number] = after.ru_maxrss - before.ru_maxrss
    assert memory[400] < 30 * 1024, "kilobytes"
    assert cpu_seconds[400] < 16 * (cpu_seconds[50] + 0.02), "a square would take 64 times as long"
