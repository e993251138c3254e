"""Workers whose last word cannot stand for the trial."""

import pytest
from noop_trials import context, noop, python_with, run

_PATCHED = """
import sys

if "orchestrator.train.process.fork_server" in sys.orig_argv:
    import numpy
    from orchestrator.train.trainers.noop_trainer import NoopTrainer

    losses = NoopTrainer.losses
    NoopTrainer.{method}
"""


@pytest.mark.parametrize(
    ("method", "kind", "message"),
    [
        (
            'losses = lambda self: {"model": losses(self)["model"] + self._job.rank}',
            "invalid_measurement",
            "ranks disagree on the loss after step 1: 1.0 on rank 0, 2.0 on rank 1",
        ),
        (
            'evaluate = lambda self, limit: {"accuracy": float(self._job.rank)}',
            "invalid_measurement",
            "ranks disagree on the accuracy: 0.0 on rank 0, 1.0 on rank 1",
        ),
        (
            'evaluate = lambda self, limit: {"held_out_loss": numpy.nan}',
            "diverged",
            "the held_out_loss is nan",
        ),
        (
            'state = lambda self: {"0.kernel": numpy.array([1.0, numpy.inf])}',
            "diverged",
            "the weights 0.kernel are not all finite after the last step",
        ),
    ],
)
@pytest.mark.parametrize("provenance", ["measured", "rehearsed"])
def test_workers_that_disagree_or_diverged_unseen_leave_no_result(
    tmp_path, provenance, method, kind, message
):
    python = python_with(tmp_path / "other", _PATCHED.format(method=method))
    placement = noop(workers=2, provenance=provenance)
    (record,) = run(context(tmp_path, pythons={"noop": python}), placement)
    assert record.result is None
    assert (record.failure.kind, record.failure.message) == (kind, message)
