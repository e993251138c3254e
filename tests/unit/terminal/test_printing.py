"""Plans and tables as a terminal shows them."""

import io

from builders import placement, trial_spec
from price_builders import price
from rich.console import Console

from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.table import Column, Table
from orchestrator.core.placement import Cached, Failed, Plan, Skipped
from orchestrator.core.price import Unpriced
from orchestrator.terminal.plan import print_plan
from orchestrator.terminal.printing import print_table, summarise_totals
from orchestrator.terminal.screen import Screen


def shown(draw, *things, width=160, **options):
    console = Console(file=io.StringIO(), width=width)
    draw(console, *things, **options)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def plan(**changes):
    return Plan(**{"sweep": "example", "placements": (), "cached": (), "skipped": (), **changes})


def cached(**changes):
    return Cached(trial=trial_spec(), trial_id="0123456789abcdef", provenance="measured", **changes)


REHEARSAL = placement(
    trial_spec(device="t4", precision="fp16"),
    provenance="rehearsed",
    substitutions=("cpu for t4", "gloo for nccl"),
    warnings=("it is slow",),
)


def test_every_point_is_listed_with_where_it_runs_or_why_it_does_not():
    skipped = Skipped(point="mnist_cnn cpu torch_xla fp16", reason="a CPU has no fp16; choose bf16")
    told = plan(placements=(placement(), REHEARSAL), cached=(cached(),), skipped=(skipped,))
    lines = shown(print_plan, told, prices=(), list_all=True)
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    assert rows == [
        ["Plan of example"],
        ["point", "where, or why not", "trial"],
        ["measure", "mnist_cnn cpu torch_ddp fp32", "localhost, 1 x 2 threads, fork", placement().trial_id],
        [
            "rehearse",
            "mnist_cnn t4 torch_ddp fp16",
            "localhost, 1 x 2 threads, fork; cpu for t4; gloo for nccl; it is slow",
            REHEARSAL.trial_id,
        ],
        ["cached", "mnist_cnn cpu torch_ddp fp32", "measured before", "0123456789abcdef"],
        ["skip", "mnist_cnn cpu torch_xla fp16", "a CPU has no fp16; choose bf16"],
        [],
        ["to run: 1 to measure, 1 to rehearse; 1 cached, 1 skipped"],
    ]


def test_a_stale_result_shows_what_has_changed():
    stale = cached(stale="torch 2.9 before, 2.13 here")
    lines = shown(print_plan, plan(cached=(stale,)), prices=(), list_all=True)
    assert "measured before, stale: torch 2.9 before, 2.13 here" in lines[2]
    assert lines[-1] == "to run: 0 to measure, 0 to rehearse; 1 cached (1 measured, 1 stale), 0 skipped"
    grouped = shown(print_plan, plan(cached=(stale,)), prices=(), list_all=False)
    assert any("torch 2.9 before, 2.13 here" in line for line in grouped)


def test_repeats_of_a_setting_are_one_row_and_skips_one_for_each_reason():
    repeats = [placement(trial_spec(repeat=repeat)) for repeat in range(3)]
    skipped = [Skipped(point=f"t4 {name}", reason="t4 has no bf16") for name in ("a", "b")]
    other = Skipped(point="cpu", reason="a CPU has no fp16")
    told = plan(placements=(*repeats, REHEARSAL), skipped=(*skipped, other))
    lines = shown(print_plan, told, prices=(), list_all=False)
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    assert rows == [
        ["Plan of example"],
        ["setting", "trials", "where, or why not"],
        ["measure", "cpu fp32", "3", "localhost, 1 x 2 threads, fork"],
        [
            "rehearse",
            "t4 fp16",
            "1",
            "localhost, 1 x 2 threads, fork; cpu for t4; gloo for nccl; it is slow",
        ],
        [
            "All of them: mnist_cnn, torch_ddp, batch 64, Some CPU x2. Seeds and repeats of a setting are "
            "one row; --all lists every trial with its id."
        ],
        [],
        ["Skipped"],
        ["points", "reason"],
        ["2", "t4 has no bf16"],
        ["1", "a CPU has no fp16"],
        ["Points that cannot run here; --all lists them."],
        [],
        ["to run: 3 to measure, 1 to rehearse; 0 cached, 3 skipped"],
    ]


def test_cached_results_are_counted_by_their_provenance():
    rehearsed = Cached(trial=REHEARSAL.trial, trial_id="1", provenance="rehearsed")
    told = plan(cached=(*[cached()] * 18, *[rehearsed] * 14))
    assert shown(print_plan, told, prices=(), list_all=False) == [
        "to run: 0 to measure, 0 to rehearse; 32 cached (18 measured, 14 rehearsed), 0 skipped"
    ]


def test_a_long_plan_shows_its_first_settings():
    places = tuple(placement(trial_spec(global_batch_size=64 + index)) for index in range(101))
    lines = shown(print_plan, plan(placements=places), prices=(), list_all=False)
    assert sum(line.startswith("measure ") for line in lines) == 100
    assert "the first 100 of 101 rows; --all lists every one" in " ".join(lines)


def test_all_lists_a_long_plan_too():
    skipped = tuple(Skipped(point=f"point{index}", reason="") for index in range(201))
    lines = shown(print_plan, plan(skipped=skipped), prices=(), list_all=True)
    assert sum(line.startswith("skip ") for line in lines) == 201


def test_what_an_hour_of_the_hardware_costs_stands_above_the_totals():
    prices = [(placement().trial, price(is_hypothetical=True)), (REHEARSAL.trial, Unpriced(reason="no row"))]
    lines = shown(print_plan, plan(placements=(placement(), REHEARSAL)), prices=prices, list_all=False)
    start = lines.index("Prices")
    told = [[cell for cell in line.split("  ") if cell] for line in lines[start + 2 : start + 4]]
    known, unknown = [[cell.strip() for cell in row] for row in told]
    assert known == [
        "cpu",
        "1",
        "cpu-box on demand",
        "here",
        "3.600",
        "2026-09-01",
        "list price",
        "a price list",
    ]
    assert unknown == ["t4", "1", *[UNKNOWN] * 4, "no row", UNKNOWN]
    assert lines[-1].startswith("to run: 1 to measure")


def test_what_failed_before_is_shown_with_the_way_to_run_it_again():
    failed = Failed(
        trial=trial_spec(), trial_id="f00", provenance="measured", kind="oom", message="out of memory"
    )
    told = plan(failed=(failed,))
    row = next(line for line in shown(print_plan, told, prices=(), list_all=True) if "f00" in line)
    assert "oom: out of memory; --rerun-failed runs it again" in row
    assert summarise_totals(told) == (
        "to run: 0 to measure, 0 to rehearse; 0 cached, 1 failed before (--rerun-failed runs them), 0 skipped"
    )


def test_thousands_are_counted_readably():
    assert summarise_totals(plan(cached=(cached(),) * 12345)) == (
        "to run: 0 to measure, 0 to rehearse; 12,345 cached, 0 skipped"
    )


TABLE = Table(
    title="Title [1]",
    note="A [note].",
    columns=(Column(header="name"), Column(header="rate", is_number=True)),
    rows=(("a[b]", "1,000"), ("[red]c", "2")),
)


def test_a_table_has_its_title_above_its_note_below_and_numbers_to_the_right():
    assert shown(print_table, TABLE) == [
        "Title [1]",
        "name     rate",
        "a[b]    1,000",
        "[red]c      2",
        "A [note].",
        "",
    ]


def test_in_a_narrow_terminal_words_wrap_and_numbers_stay_whole():
    wide = Table(
        title="Wide",
        note="",
        columns=(Column(header="cause"), Column(header="samples/s", is_number=True)),
        rows=(("a long cause of many words", "14,744 [14,260, 17,217]"),),
    )
    assert shown(print_table, wide, width=26) == [
        "Wide",
        "cause            samples/s",
        "a long              14,744",
        "cause of  [14,260, 17,217]",
        "many",
        "words",
        "",
    ]


def test_commands_are_numbered_below_their_table_and_unbroken():
    command = "python -m orchestrator +sweep=single workload=resnet50 device=t4 " + "seed=0 " * 20
    columns = (Column(header="setting"), Column(header="command", is_command=True))
    table = Table(title="", note="", columns=columns, rows=(("t4", command.strip()), ("l4", "")))
    lines = shown(print_table, table, width=80)
    assert [line.split() for line in lines[:3]] == [["#", "setting"], ["1", "t4"], ["2", "l4"]]
    assert lines[3] == f"1  {command.strip()}"


def test_what_is_waited_for_is_shown_on_a_terminal_alone(monkeypatch, capsys):
    screen = Screen(Console(quiet=True))
    monkeypatch.setenv("TTY_COMPATIBLE", "0")
    with screen.waiting("describing"):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with screen.waiting("describing"):
        pass
    out, err = capsys.readouterr()
    assert (out, "describing" in err) == ("", True)
