"""What the cross-check concludes of its pairs, and which scripts it refuses."""

import json
import sys

import pytest
from cross_check import Check, Pair, json_of, main, table_of
from independent import Bare, Protocol, Rates, rates_of, require_training
from trials import require_all

from orchestrator.core.placement import Plan, Skipped

LEARNT = {"losses": [2.3, 0.5], "parameters": 1000}


def check(*ratios: float, best: float = 1.0) -> Check:
    """Pairs of medians with those ratios; the fastest blocks of all have another."""
    bare = Rates(median=500, best=2000)
    pairs = (Pair(ours=Rates(median=each * 500, best=2000 * best), bare=bare) for each in ratios)
    return Check(trainer="torch_ddp", pairs=tuple(pairs))


@pytest.mark.parametrize(
    ("ratios", "is_within", "verdict"),
    [
        ((0.99, 1.02, 1.0), True, "within 3%"),
        ((0.8, 1.02, 1.3), True, "within 3%, but its interval is not: more pairs"),
        ((1.04, 1.05, 1.04), False, "not within 3%"),
        ((0.96, 0.95, 0.96), False, "not within 3%"),
    ],
)
def test_the_median_ratio_decides_and_its_interval_says_how_surely(ratios, is_within, verdict):
    found = check(*ratios, best=1.1)
    assert (found.is_within, found.verdict) == (is_within, verdict)


def test_where_the_host_was_busy_the_fastest_blocks_decide_and_the_verdict_says_so():
    found = check(1.2, 0.7, 1.3, best=0.98)
    assert (found.is_within, found.verdict) == (True, "within 3% by the fastest blocks alone")


def test_a_run_has_the_rate_of_its_median_block_and_of_its_fastest():
    assert rates_of([0.2, 0.1, 0.4], samples_per_block=100) == Rates(median=500, best=1000)


def test_the_table_has_each_pair_and_the_json_each_rate():
    row = table_of([check(0.99, 1.02, 1.0)]).splitlines()[-1]
    assert row == "| torch_ddp | 500 | 500 | 0.990, 1.020, 1.000 | 1.000 [0.990, 1.020] | 1.000 | within 3% |"
    (said,) = json.loads(json_of([check(0.99, 1.02, 1.0)]))
    bare = {"median": 500, "best": 2000}
    assert said["pairs"][1] == {"ours": {"median": 510, "best": 2000}, "bare": bare, "ratio": 1.02}
    assert (said["median_ratio"], said["interval"], said["is_within"]) == (1.0, [0.99, 1.02], True)


def test_both_sides_are_asked_for_as_many_steps():
    protocol = Protocol(blocks=30, steps_per_block=20)
    assert "steps=621" in protocol.overrides()
    assert protocol.words() == ("--warmup-steps=20", "--blocks=30", "--steps-per-block=20")


def test_a_script_that_trained_the_same_network_is_believed():
    require_training(LEARNT, num_parameters=1000)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (LEARNT | {"parameters": 999}, "the script's network has 999 parameters; ours has 1000"),
        (LEARNT | {"losses": [2.3, 2.3]}, "the script's loss did not fall: 2.3 at first, 2.3 at last"),
        (LEARNT | {"losses": [2.3, float("nan")]}, "the script's loss did not fall: 2.3 at first, nan at"),
    ],
)
def test_a_script_that_trained_another_network_or_nothing_is_refused(said, message):
    with pytest.raises(SystemExit, match=f"^{message}"):
        require_training(said, num_parameters=1000)


def test_a_script_that_fails_has_no_rate():
    bare = Bare(command=(sys.executable, "absent.py"), variables={}, num_parameters=1, batch_size=64)
    with pytest.raises(SystemExit, match=r"^absent.py ended with 2; its error is above$"):
        bare.rates(Protocol(blocks=1, steps_per_block=1))


def test_a_point_that_cannot_be_measured_here_says_why():
    skipped = Skipped(point="trainer=torch_xla", reason="torch_xla is not installed")
    with pytest.raises(SystemExit, match=r"cannot be measured here: torch_xla is not installed$"):
        require_all(Plan(sweep="smoke", placements=(), cached=(), skipped=(skipped,)))


@pytest.mark.parametrize("words", [["--pairs", "0"], ["--pairs", "few"], ["--blocks", "-1"]])
def test_counts_below_one_are_refused_in_one_line(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"argument {words[0]}: {words[1]!r} must be a whole number of at least 1")
