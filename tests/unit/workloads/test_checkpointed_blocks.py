"""Recomputation and kept values of a checkpointed block."""

import copy
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 (skipped above without torch)
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402 (likewise)

from workloads.jobs import TorchJob  # noqa: E402 (likewise)
from workloads.native.torch_blocks import recompute_blocks  # noqa: E402 (likewise)
from workloads.registry import workload  # noqa: E402 (likewise)
from workloads.with_torch.checkpointing import ATTENTIONS, PRODUCTS, run_checkpointed  # noqa: E402 (likewise)
from workloads.with_torch.network import build  # noqa: E402 (likewise)


class Operations(TorchDispatchMode):
    """Counts of operations by their kind."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, operation: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kinds = {"product": PRODUCTS, "attention": ATTENTIONS}
        self.counts.update(kind for kind, members in kinds.items() if operation in members)
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("mode", "products", "attentions"), [("none", 0, 0), ("selective", 4, 0), ("full", 8, 2)]
)
def test_a_step_computes_what_is_not_kept_once_more(mode: Any, products: int, attentions: int) -> None:
    """Two blocks of four products and an attention; the last product of a block is needed by no gradient."""
    counts = [_count_operations(one) for one in ("none", mode)]
    assert counts[1]["product"] - counts[0]["product"] in (products, products - 2)
    assert counts[1]["attention"] - counts[0]["attention"] == attentions


def _count_operations(mode: Any) -> Counter[str]:
    network = build(workload("gpt2", {}).networks["model"], seed=0)
    network.recomputation = mode
    with Operations() as seen:
        network(torch.zeros(2, 64, dtype=torch.int32)).sum().backward()
    return seen.counts


def test_an_evaluation_computes_a_block_once() -> None:
    calls = []
    with torch.no_grad():
        assert run_checkpointed("full", lambda value: calls.append(1) or value, torch.ones(1)) == 1
    assert calls == [1]


def test_an_attention_that_draws_is_computed_again_with_the_same_draws() -> None:
    """A kept draw would shift those of the later dropout."""
    weight = torch.randn(1, 2, 8, 8, requires_grad=True)

    def attend(value: torch.Tensor) -> torch.Tensor:
        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            drawn = nn.functional.scaled_dot_product_attention(value, value, value, dropout_p=0.5)
        return nn.functional.dropout(drawn, 0.5).square()

    gradients = []
    for mode in ("none", "selective", "full"):
        torch.manual_seed(0)
        run_checkpointed(mode, attend, weight * 1).sum().backward()
        gradients.append(weight.grad)
        weight.grad = None
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(gradients[0], gradients[2])


def test_a_copy_of_a_model_computes_its_own_blocks() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2)
    recompute_blocks(TorchJob(model=model, loss=None, optimizer=None, data=None), "full")
    copied = copy.deepcopy(model)
    rows = torch.randn(2, 3, 8)
    before = copied(rows)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    assert torch.equal(copied(rows), before)
    assert list(dict(copied.named_parameters())) == list(dict(model.named_parameters()))
