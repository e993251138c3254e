"""Conclusion of the cross-check from its pairs, and scripts that it refuses."""

import json
import sys

import pytest
from cross_check import Check, json_of, main, table_of
from independent import Bare, Protocol
from trials import require_all
from turns import Blocks

from orchestrator.core.placement import Plan, Skipped

PROTOCOL = Protocol(blocks=2, steps_per_block=20)
SCRIPT = """
import json, sys
print(json.dumps({{"parameters": {parameters}, "loss": 2.3}}), flush=True)
for number, _ in enumerate(sys.stdin):
    print(json.dumps({{"seconds": 0.5, "loss": {loss}}}), flush=True)
"""


def check(*ratios: float) -> Check:
    """Pairs of median blocks with those ratios of their rates."""
    pairs = (Blocks(ours=(9.0, 1 / ratio, 0.1), bare=(1.0, 1.0, 1.0)) for ratio in ratios)
    return Check(trainer="torch_ddp", pairs=tuple(pairs), samples_per_block=500)


def bare(folder, *, parameters: int = 1000, loss: str = "0.5") -> Bare:
    """A script of the name `script.py`, that trains nothing."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(parameters=parameters, loss=loss))
    return Bare(command=(sys.executable, str(script)), variables={}, num_parameters=1000)


@pytest.mark.parametrize(
    ("ratios", "is_within", "verdict"),
    [
        ((0.99, 1.02, 1.0), True, "within 3%"),
        ((0.8, 1.02, 1.3), True, "within 3%, but its interval is not: more pairs"),
        ((1.04, 1.05, 1.04), False, "not within 3%"),
        ((0.96, 0.95, 0.96), False, "not within 3%"),
    ],
)
def test_the_median_ratio_decides_and_its_interval_shows_how_surely(ratios, is_within, verdict):
    assert (check(*ratios).is_within, check(*ratios).verdict) == (is_within, verdict)


def test_the_table_has_each_pair_and_the_json_each_block():
    row = table_of([check(0.99, 1.02, 1.0)]).splitlines()[-1]
    assert row == "| torch_ddp | 500 | 500 | 0.990, 1.020, 1.000 | 1.000 [0.990, 1.020] | within 3% |"
    (said,) = json.loads(json_of([check(0.8, 1.02, 1.0)]))
    assert said["pairs"][0] == {"ours": [9.0, 1.25, 0.1], "bare": [1.0, 1.0, 1.0]}
    assert (said["median_ratio"], said["is_within"], said["samples_per_block"]) == (1.0, True, 500)


def test_our_side_takes_as_many_steps_as_its_blocks_have():
    protocol = Protocol(blocks=30, steps_per_block=20)
    assert "steps=621" in protocol.overrides()
    assert protocol.words() == ("--warmup-steps=20", "--steps-per-block=20")


def test_a_script_that_trained_the_same_network_is_believed(tmp_path):
    with bare(tmp_path).started(PROTOCOL) as run:
        assert [run.block_seconds(), run.block_seconds()] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": 999}, "script.py: a network of 999 parameters; ours has 1000"),
        ({"loss": "2.3"}, "script.py: its loss did not fall: 2.3 at first, 2.3 at last"),
        ({"loss": "float('nan')"}, "script.py: its loss did not fall: 2.3 at first, nan at"),
    ],
)
def test_a_script_that_trained_another_network_or_none_is_refused(tmp_path, changes, message):
    with (
        pytest.raises(SystemExit, match=f"^{message}"),
        bare(tmp_path, **changes).started(PROTOCOL) as run,
    ):
        run.block_seconds()


def test_a_script_that_fails_has_no_rate():
    absent = Bare(command=(sys.executable, "absent.py"), variables={}, num_parameters=1)
    with (
        pytest.raises(SystemExit, match=r"^absent.py ended with 2; its error is above$"),
        absent.started(PROTOCOL) as run,
    ):
        run.block_seconds()


def test_a_point_that_cannot_be_measured_here_shows_why():
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
