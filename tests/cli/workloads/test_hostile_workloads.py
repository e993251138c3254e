"""Whatever a user's workload does, the command that plans ends with one line, in time, and alone."""

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from local_server import served
from process_tracking import Family, family
from user_workload import SPEC, searched, write
from web_server import serving

from orchestrator.cli import main
from orchestrator.core.printable import MOST_OF_AN_ERROR
from workloads.apart import GIGABYTES_VARIABLE, SECONDS_VARIABLE
from workloads.ready_data import ready
from workloads.registry import forget, options_class, workload

WORDS = (
    "plan",
    "+sweep=smoke",
    "workload=mine",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "executor=inline",
    "tracking=none",
)
HERE = "workload 'mine': HERE/spec.py, line {}: "
IMPORT, MAKE = HERE.format(7), HERE.format(13)
NEVER = ("while True", "sleep(1000)", "signal.pause()")
LATE = "not done after 2 s; workload_seconds=20 gives it longer"

ERROR = """\
class Mine({}):
    def __str__(self): {}
raise Mine()"""
WRITE = """\
import os
for descriptor in map(int, os.listdir("/proc/self/fd")):
    if descriptor > 2:
        try: os.write(descriptor, {})
        except OSError: pass"""
CODE = {
    "while True: pass": LATE,
    "import time; time.sleep(1000)": LATE,
    "import signal; signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65)); signal.pause()": LATE,
    "import sys; sys.exit(7)": "SystemExit: 7",
    "raise BaseException('no luck')": "BaseException: no luck",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise GeneratorExit('gone')": "GeneratorExit: gone",
    "raise RuntimeError('\\x1b[2J\\x1b]0;title\\x07')": r"RuntimeError: \x1b[2J\x1b]0;title\x07",
    "raise RuntimeError('x' * 3_000_000)": f"RuntimeError: {'x' * 500}",
    "import os; os.abort()": "its process died of SIGABRT",
    "import ctypes; ctypes.string_at(0)": "its process died of SIGSEGV",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "its process died of SIGKILL",
    "import os; os._exit(7)": "its process ended with exit code 7",
    "print('words', flush=True); import os; os._exit(7)": (
        "its process ended with exit code 7; it printed last: words"
    ),
    "bytearray(100 * 10**9)": ("MemoryError; it may take 3 GB, and workload_gigabytes=6 gives it more"),
    "import numpy; numpy.ones(10**10)": (
        "MemoryError: Unable to allocate 74.5 GiB for an array with shape (10000000000,) and data type "
        "float64; it may take 3 GB, and workload_gigabytes=6 gives it more"
    ),
    "import os; os.closerange(0, 1000)": "it closed the connection to this command",
    WRITE.format(r"b'{}\n'"): "it said something else than an answer to this command",
    WRITE.format(r"b'[' * 10**6 + b'\n'"): "it said something else than an answer to this command",
    WRITE.format(r"b'\x00\xff' * 1000 + b'\n'"): "it said something else than an answer to this command",
    WRITE.format("b'x' * 2**25"): "it said more than 16,777,216 bytes at once",
}
"""What a workload does -> what is said of it, at the end of the line."""

NO_PLACE = ("its process died of SIGKILL", "its process ended", "it closed", "it said")
"""How lines begin of which nobody knows the place: the code has left no trace."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Family]:
    """The processes that a test starts; none may be left."""
    with family(monkeypatch) as processes:
        yield processes


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: Family) -> Iterator[Path]:
    """A folder where workloads are looked for, and little memory for their code."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(GIGABYTES_VARIABLE, "3")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    with searched(folder):
        yield folder


@pytest.fixture
def lines(own: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """(a `spec.py`, more files) -> exit code, lines on standard output, lines on standard error.

    Code that never ends has 2 seconds; any other has the usual time, for this host may be busy.
    """

    def run(
        spec: str, files: dict[str, str] | None = None, words: Sequence[str] = WORDS
    ) -> tuple[int, list[str], list[str]]:
        write(own, {"mine/spec.py": spec, **(files or {})})
        if any(item in text for item in NEVER for text in (spec, *(files or {}).values())):
            monkeypatch.setenv(SECONDS_VARIABLE, "2")
        code = main(words)
        told = capfd.readouterr()
        assert "\x1b" not in told.out + told.err
        return code, told.out.splitlines(), [_whole(line, own) for line in told.err.splitlines()]

    return run


def _whole(line: str, own: Path) -> str:
    """The line, from the file that has all of it where it was cut."""
    kept = re.search(r"\(all of it: (\S+)\)$", line)
    if kept:
        assert len(line) <= MOST_OF_AN_ERROR
        line = f"error: {Path(kept[1]).read_text(encoding='utf-8').strip()}"
    return line.replace(f"{own}/mine", "HERE")


def at_import(code: str) -> str:
    return SPEC.replace("VERSION = 3\n", f"VERSION = 3\n{code}\n")


def in_make(code: str) -> str:
    indented = code.replace("\n", "\n    ")
    return SPEC.replace("def make(options):\n", f"def make(options):\n    {indented}\n")


def expected(place: str, said: str, code: str) -> str:
    if said.startswith(NO_PLACE):
        return f"error: workload 'mine': {said}"
    line = int(place.split("line ")[1].rstrip(": ")) + code[: code.find("raise Mine")].count("\n")
    return f"error: workload 'mine': HERE/spec.py, line {line}: {said}"


@pytest.mark.more_except("pass")
@pytest.mark.parametrize("code", CODE)
def test_what_it_does_when_it_is_imported_is_one_line(lines, code: str) -> None:
    assert lines(at_import(code)) == (2, [], [expected(IMPORT, CODE[code], code)])


@pytest.mark.more_except("pass")
@pytest.mark.parametrize("code", CODE)
def test_what_it_does_in_make_is_one_line(lines, code: str) -> None:
    place = HERE.format(11)
    assert lines(in_make(code)) == (2, [], [expected(place, CODE[code], code)])


@pytest.mark.more_except("BaseException-raise OSError('broken')", "BaseException-raise KeyboardInterrupt")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("raise OSError('broken')", "Mine: its __str__ raised OSError"),
        ("raise KeyboardInterrupt", "Mine: its __str__ raised KeyboardInterrupt"),
        ("return 5", "Mine: its __str__ raised TypeError"),
        ("return 'a' * 10**9", f"Mine: {'a' * 500}"),
        ("return ''", "Mine"),
    ],
)
@pytest.mark.parametrize("base", ["Exception", "BaseException"])
def test_an_error_that_cannot_be_shown_is_one_line(lines, base: str, said: str, told: str) -> None:
    assert lines(at_import(ERROR.format(base, said))) == (2, [], [f"error: {HERE.format(9)}{told}"])


@pytest.mark.more
def test_an_error_that_never_shows_what_it_is_is_one_line(lines) -> None:
    code = ERROR.format("Exception", "\n        while True: pass")
    assert lines(at_import(code)) == (2, [], [f"error: {HERE.format(9)}{LATE}"])


DATA = """\
from workloads.data.dataset import DataSet, Published, Synthetic
from workloads.data.mnist import MNIST
{}
MINE = DataSet(name="mine", version=1, real=(), standin=None, synthetic={})
"""
MADE = "Synthetic(description={}, version=1, make={})"
OF_DATA = "error: data set 'mine.data:MINE': "
SPEC_OF_DATA = SPEC.replace("workloads.data.mnist:MNIST", "mine.data:MINE")
BROKEN_DATA = {
    ("class Odd(Synthetic):\n    description = property(lambda self: 1 / 0)", "object.__new__(Odd)"): (
        "HERE/data.py, line 4: ZeroDivisionError: division by zero"
    ),
    ("", "object.__new__(Synthetic)"): "AttributeError: 'Synthetic' object has no attribute 'description'",
    ("", "None"): "AttributeError: 'NoneType' object has no attribute 'version'",
    ("", MADE.format("None", "None")): "the description of its Synthetic is None, expected a text",
    ("", MADE.format("b'mine'", "None")): "the description of its Synthetic is b'mine', expected a text",
    ("", MADE.format("'x' * 10**9", "None")): (
        "the description of its Synthetic has 1,000,000,000 characters, at most 1,000 are possible"
    ),
    (
        "class Odd(Synthetic):\n    description = property(lambda self: 'x' * 10**11)",
        "object.__new__(Odd)",
    ): "HERE/data.py, line 4: MemoryError; it may take 3 GB, and workload_gigabytes=6 gives it more",
    ("def make(cache):\n    while True: pass", MADE.format("'m'", "make")): f"HERE/data.py, line 4: {LATE}",
    ("def make(cache):\n    raise SystemExit(3)", MADE.format("'m'", "make")): (
        "HERE/data.py, line 4: SystemExit: 3"
    ),
    ("def make(cache):\n    raise ValueError('no')", MADE.format("'m'", "make")): (
        "HERE/data.py, line 4: ValueError: no"
    ),
    ("def make(cache):\n    import os; os.abort()", MADE.format("'m'", "make")): (
        "HERE/data.py, line 4: its process died of SIGABRT"
    ),
}


@pytest.mark.more_except("zero", "'Synthetic'")
@pytest.mark.parametrize("change", BROKEN_DATA, ids=BROKEN_DATA.values())
def test_a_broken_data_set_is_one_line(lines, change: tuple[str, str]) -> None:
    told = lines(SPEC_OF_DATA, {"mine/data.py": DATA.format(*change)})
    assert told == (2, [], [f"{OF_DATA}{BROKEN_DATA[change]}"])


def test_a_description_is_shown_and_not_obeyed(lines) -> None:
    make = "lambda _: MNIST.synthetic.make(_)"
    data = DATA.format("", MADE.format(r"'red \x1b[31m\nline'", make))
    code, out, err = lines(SPEC_OF_DATA, {"mine/data.py": data})
    assert (code, err) == (0, [])
    assert out[0] == r"data: red \x1b[31m\nline"


def test_what_it_prints_and_does_to_its_process_stays_there(lines, tmp_path: Path) -> None:
    code = r"""
import os, sys
print("\x1b[2Jprinted")
print("\x1b[2Jcomplained", file=sys.stderr)
os.system("echo echoed; echo echoed too >&2")
os.write(1, b"written\n" * 100_000)
try:
    open("/dev/tty", "w").write("\x1b[2J")
except OSError:
    pass
os.chdir("/")
os.environ.clear()
os.environ["ORCHESTRATOR_CACHE"] = "/nowhere"
os.close(0); os.close(1); os.close(2)
"""
    before = dict(os.environ)
    exit_code, out, err = lines(at_import(code))
    assert (exit_code, err) == (0, [])
    assert out[0].startswith("data: synthetic")
    assert not any(word in line for line in out for word in ("printed", "complained", "echoed", "written"))
    assert (dict(os.environ), Path.cwd()) == (before, tmp_path)


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
"""


@pytest.mark.more_except("_exit(7)")
@pytest.mark.parametrize("then", ["", "while True: pass", "os._exit(7)", "os.abort()"])
def test_what_it_starts_ends_with_the_command(lines, started: Family, then: str) -> None:
    code, _, err = lines(at_import(DAEMON + then))
    assert (code, len(err)) == ((2, 1) if then else (0, 0)), err
    assert started.pids() == set()


def test_a_killed_command_leaves_no_process(own: Path, started: Family) -> None:
    write(own, {"mine/spec.py": at_import(f"{DAEMON}\nopen('{own}/here', 'w')\nwhile True: pass")})
    with subprocess.Popen(
        [sys.executable, "-m", "orchestrator", *WORDS], env={**os.environ, SECONDS_VARIABLE: "60"}
    ) as command:
        while not (own / "here").exists():
            assert command.poll() is None
        command.kill()
    started.wait_until_gone()


@pytest.mark.parametrize("word", ["workload_seconds=soon", "workload_seconds=0", "workload_gigabytes=nan"])
def test_a_limit_that_is_none_is_shown(lines, own: Path, word: str, capfd) -> None:
    write(own, {"mine/spec.py": SPEC})
    key, _, value = word.partition("=")
    assert main([*WORDS, word]) == 2
    assert capfd.readouterr().err == f"error: {key}={value} must be a number above 0 and at most 1,000,000\n"


def test_the_repositorys_own_workloads_start_no_process(own: Path, started: Family) -> None:
    write(own, {"mine/spec.py": SPEC})
    assert options_class("mnist_cnn")().filters
    assert workload("mnist_cnn", {}).name == "mnist_cnn"
    assert ready("workloads.data.mnist:MNIST", "synthetic", cache=own / "cache", download=False).id
    assert started.pids() == set()
    assert workload("mine", {}).name == "mine"
    assert len(started.pids()) == 2
    forget()
    assert started.pids() == set()


PUBLISHED = """\
import hashlib
from workloads.data.dataset import DataSet, Published, PublishedFile, Synthetic
from workloads.data.mnist import MNIST
FILE = PublishedFile(name="mine", digest="sha256:{digest}", places=lambda: (), url="{url}")
def read(paths):
    return MNIST.synthetic.make(paths[0].parent)
REAL = Published(description="real", files=(FILE,), cure="none", read=read)
MINE = DataSet(name="mine", version=1, real=(REAL,), standin=None, synthetic=MNIST.synthetic)
"""


@pytest.mark.more
def test_a_download_is_shown_as_it_goes_on_and_takes_no_time_of_the_code(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS_VARIABLE, "2")
    piece, pieces = b"x" * 2**18, 8

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(pieces * len(piece)))
            self.end_headers()
            for _ in range(pieces):
                time.sleep(0.5)
                self.wfile.write(piece)

        def log_message(self, format: str, *args: object) -> None:
            pass

    told: list[int] = []
    digest = hashlib.sha256(pieces * piece).hexdigest()
    with served(Slow) as url:
        write(own, {"mine/spec.py": SPEC_OF_DATA, "mine/data.py": PUBLISHED.format(digest=digest, url=url)})
        begun = time.monotonic()
        ref = ready(
            "mine.data:MINE",
            "real",
            cache=own / "cache",
            download=True,
            progress=lambda received, _: told.append(received),
        )
    assert time.monotonic() - begun > 3  # and its code has 2 seconds
    assert (ref.description, ref.to_download, ref.path.is_file()) == ("real", None, True)
    assert told[-1] == pieces * len(piece)


def test_what_would_be_downloaded_is_shown_and_not_fetched(own: Path) -> None:
    with serving() as site:
        data = PUBLISHED.format(digest="0" * 64, url=f"{site.url}/mine")
        write(own, {"mine/spec.py": SPEC_OF_DATA, "mine/data.py": data})
        ref = ready("mine.data:MINE", "real", cache=own / "cache", download=False)
        assert (ref.to_download, site.asked) == ("real", [])


def test_data_that_cannot_be_had_is_shown_with_its_cure(lines) -> None:
    data = DATA.format("", "MNIST.synthetic")
    words = [*WORDS[:6], "data.source=real", *WORDS[7:]]
    code, _, err = lines(SPEC_OF_DATA, {"mine/data.py": data}, words)
    assert (code, err) == (
        2,
        ["error: data set 'mine': there are no real files; set data.source=synthetic"],
    )
