"""The document of a plan has what its answers about memory mean, which the stored plan has not."""

import pytest
from plan_builders import TPU, planned, point

from orchestrator.commands.plan_document import plan_document
from orchestrator.core import codec
from orchestrator.core.memory_fit import MemoryFit, NoFit, TensorCount, Verdict
from orchestrator.plan.memory import memory_key

GIB = 2**30
ON_TPU = point(trainer="tensorflow", device=TPU, precision="bf16")


def counted(gib: float) -> TensorCount:
    return TensorCount(tensor_bytes=int(gib * GIB), bucket_bytes=0, staged_bytes=0, capacity_bytes=16 * GIB)


@pytest.mark.parametrize(
    ("fit", "verdict"),
    [
        (counted(3), "fits"),
        (counted(13.5), "tight"),
        (MemoryFit(needed_bytes=3 * GIB, granted_bytes=16 * GIB, compiler="libtpu 0"), "fits"),
        (NoFit(reason="it has no blocks"), "unknown"),
    ],
)
def test_the_document_of_a_plan_has_a_verdict_for_each_step(fit: Verdict | NoFit, verdict: str) -> None:
    (placed,) = planned(ON_TPU).placements
    plan = planned(ON_TPU, memory_fits={memory_key(placed.trial): fit})
    document = plan_document(plan)
    (shown,) = document["memory"].values()
    assert shown["verdict"] == verdict
    used = shown["used_bytes"]
    assert used is None or used["low"] < used["median"] < used["high"]
    assert (used is None) == (not isinstance(fit, TensorCount))
    stored = codec.to_plain(plan)
    assert {key: value for key, value in document.items() if key != "memory"} == {
        key: value for key, value in stored.items() if key != "memory"
    }


@pytest.mark.parametrize(("gib", "verdict"), [(3, "fits"), (13.5, "tight"), (17, "does not fit")])
def test_the_verdict_of_a_count_is_the_one_of_its_sentence(gib: float, verdict: str) -> None:
    fit = counted(gib)
    assert fit.verdict == verdict
    assert fit.words("t4").startswith(f"{verdict}:") == fit.fits
