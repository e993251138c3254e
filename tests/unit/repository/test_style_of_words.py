"""Style of what a reader meets first: short sentences, few digits, a word of caution once."""

import io
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from report_builders import PRICE, forecast, measured, plan_of, repeats, tpu_vs_gpu
from rich.console import Console

from orchestrator.analysis.findings import Findings, collect_findings
from orchestrator.analysis.report.page import render
from orchestrator.cli import main
from orchestrator.terminal.ending import choose_ending
from orchestrator.terminal.printing import print_ending

MOST_WORDS, MOST_LINES = 25, 12
WIDE = 0.2
NUMBER = r"[\d,]*\.?\d+"
RANGED = re.compile(rf"({NUMBER})(?: \w+)? (?:\[({NUMBER}), ({NUMBER})\]|\(({NUMBER}) to ({NUMBER})\))")


def open_answer() -> Findings:
    """An answer that a prediction keeps open."""
    return collect_findings(*tpu_vs_gpu())


def settled() -> Findings:
    """Two settings that differ by a factor of two."""
    slow = repeats("tensorflow", rates=[500, 505, 510, 515, 520], price=PRICE)
    records = [*repeats("torch_ddp", rates=[1000, 1010, 1020, 1030, 1040], price=PRICE), *slow]
    return collect_findings(records, plan_of(records))


def tied() -> Findings:
    """Three settings whose repeats spread widely."""
    records = [
        one
        for trainer in ("torch_ddp", "tensorflow", "torch_xla")
        for one in repeats(trainer, rates=[1000, 1210, 1460], price=PRICE)
    ]
    forecasts = [forecast(device=device, step_seconds=0.01) for device in ("t4", "v100")]
    return collect_findings(records, plan_of(records, forecasts=forecasts))


def many() -> Findings:
    """Forty settings."""
    records = [
        measured(
            "torch_ddp", step_seconds=0.01 + 0.001 * index, global_batch_size=8 * (index + 1), price=PRICE
        )
        for index in range(40)
    ]
    return collect_findings(records, plan_of(records))


def busy() -> Findings:
    """Nothing but disturbed runs."""
    records = [measured(repeat=index, recorded={"load_average": (9.0, 9.0)}) for index in range(3)]
    return collect_findings(records, plan_of(records))


CASES = (open_answer, settled, tied, many, busy)


def page_of(findings: Findings) -> str:
    """The page without its table of definitions, which is read on demand."""
    page = render(sweep="example", findings=findings).partition("<body>")[2].partition("<script>")[0]
    return re.sub(r"<dl>.*?</dl>|<svg.*?</svg>|<pre.*?</pre>|<code>.*?</code>", "", page, flags=re.DOTALL)


def prose_of(findings: Findings) -> Iterator[str]:
    """The text of headings, paragraphs and lists, tags removed."""
    for body in re.findall(
        r"<(?:h1|h2|h3|p|li)\b[^>]*>(.*?)</(?:h1|h2|h3|p|li)>", page_of(findings), re.DOTALL
    ):
        yield unescape(re.sub(r"<[^>]+>", "", body))


def terminal_of(findings: Findings, *, width: int = 120) -> list[str]:
    """The lines of the end of `run` and `report`."""
    console = Console(file=io.StringIO(), width=width, color_system=None, record=True)
    print_ending(console, choose_ending(findings), remarks=())
    return console.export_text().splitlines()


def sentences_in(text: str) -> list[str]:
    """Parts that a reader takes in at once, without commands."""
    return re.split(r"(?<=[.:?!])\s+|\s\N{MIDDLE DOT}\s", text.partition("python -m")[0])


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_of_the_page_has_more_than_25_words(case: Callable[[], Findings]) -> None:
    texts = list(prose_of(case()))
    assert texts
    assert not [one for text in texts for one in sentences_in(text) if len(one.split()) > MOST_WORDS]


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_of_an_ending_has_more_than_25_words(case: Callable[[], Findings]) -> None:
    ending = choose_ending(case())
    texts = (*ending.jobs, *ending.answers, ending.table.note, *ending.facts, *ending.steps)
    assert not [one for text in texts for one in sentences_in(text) if len(one.split()) > MOST_WORDS]


@pytest.mark.parametrize("case", CASES)
def test_an_ending_has_at_most_twelve_lines_with_the_place_of_the_page(case: Callable[[], Findings]) -> None:
    assert len(terminal_of(case())) + 1 <= MOST_LINES


@pytest.mark.parametrize("case", CASES)
def test_a_page_has_the_word_hypothetical_once(case: Callable[[], Findings]) -> None:
    assert page_of(case()).count("hypothetical") <= 1


@pytest.mark.parametrize("case", CASES)
def test_numbers_beside_a_wide_interval_have_few_digits(case: Callable[[], Findings]) -> None:
    findings = case()
    assert not find_long_numbers([*terminal_of(findings), re.sub(r"<[^>]+>", " ", page_of(findings))])


def find_long_numbers(texts: list[str]) -> list[str]:
    """Find numbers of more than four digits beside an interval that is wider than a fifth of them."""
    wide = []
    for middle, *ends in (found for text in texts for found in RANGED.findall(text)):
        value, low, high = (float(one.replace(",", "")) for one in (middle, *filter(None, ends)))
        if value and (high - low) / value > WIDE:
            wide.append(middle)
    return [one for one in wide if len(re.sub(r"[,.]", "", one).strip("0")) > 4]


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "+sweep=single", "workload=vgg16", "device=t4,cpu"),
        ("predict", "workload=resnet50", "device=t4,v100,cpu", "global_batch_size=64,512"),
        ("predict", "explain", "workload=resnet50", "device=t4,cpu"),
        ("predict", "advise", "workload=resnet50", "device=t4,v100,cpu"),
    ],
    ids=" ".join,
)
def test_commands_use_short_sentences_and_few_digits(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "4000")  # a sentence is a line, and a row too
    assert main(list(words)) == 0
    shown = capsys.readouterr().out
    cells = [cell for line in shown.splitlines() for cell in re.split(r"\s{2,}", line)]
    assert not [one for cell in cells for one in sentences_in(cell) if len(one.split()) > MOST_WORDS]
    assert not find_long_numbers(cells)
    assert shown.count("hypothetical") <= 1
