"""Outcome of an attempt in one line of a log."""

from dataclasses import replace

from builders import record, train_result

from orchestrator.terminal.trial_outcome import long_outcome


def test_a_noisy_trial_is_marked_in_a_line_without_a_terminal():
    quiet = record(result=train_result(quality={"accuracy": 0.9}))
    noisy = replace(quiet, result=replace(quiet.result, load_average=(9.0, 9.0)))
    assert "noisy" not in long_outcome(quiet)
    assert long_outcome(noisy).endswith("samples/s, accuracy 0.900, noisy")
