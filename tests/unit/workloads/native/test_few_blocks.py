"""Counts of a few of many equal blocks, and which blocks are equal."""

from collections.abc import Mapping

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402  (torch may be absent)

from workloads.native.torch_depth import count_all, find_equal_list  # noqa: E402  (likewise)


class Block(nn.Module):
    """A layer with the number of its block, and a name that holds it."""

    def __init__(self, number: int, *, units: int = 4, is_wide: bool = False) -> None:
        super().__init__()
        self.layer_idx, self.name, self.is_wide = number, f"layers.{number}.inner", is_wide
        self.inner = nn.Linear(units, units)


def make(*blocks: nn.Module) -> nn.Module:
    return nn.ModuleDict({"head": nn.Linear(4, 2), "blocks": nn.ModuleList(blocks)})


def find(model: nn.Module) -> nn.ModuleList | None:
    return find_equal_list(model, [*model["blocks"]])


def test_blocks_that_differ_in_their_number_alone_are_equal():
    model = make(*map(Block, range(8)))
    assert find(model) is model["blocks"]


@pytest.mark.parametrize(
    "last",
    [Block(7, is_wide=True), Block(7, units=8), Block(3), nn.Linear(4, 4), Block(7).requires_grad_(False)],
    ids=["attribute", "shape", "number", "class", "frozen"],
)
def test_one_other_block_makes_them_unequal(last):
    assert find(make(*map(Block, range(7)), last)) is None


def test_blocks_with_attributes_that_cannot_be_compared_are_unequal():
    model = make(*map(Block, range(8)))
    for block in model["blocks"]:
        block.scales = [torch.ones(2)]
    assert find(model) is None


def test_few_blocks_and_blocks_outside_of_one_list_are_counted_whole():
    assert find(make(*map(Block, range(7)))) is None
    model = make(*map(Block, range(8)))
    assert find_equal_list(model, [*model["blocks"]][::-1]) is None


def count_weights(model: nn.Module, *, power: int = 1) -> Mapping[str, int]:
    blocks = model["blocks"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def count() -> Mapping[str, int]:
        weights = sum(weight.numel() for group in optimizer.param_groups for weight in group["params"])
        between = {"between": 7} if len(blocks) > 2 else {}
        return {"weights": weights, "pairs": len(blocks) ** power, **between}

    return count_all(blocks, [optimizer], count, depths=(4, 3, 2))


def test_counts_grow_by_equal_amounts_to_all_blocks():
    model = make(*map(Block, range(12)))
    weights = sum(weight.numel() for weight in model.parameters())
    assert count_weights(model) == {"weights": weights, "pairs": 12, "between": 7}


def test_counts_that_grow_otherwise_are_not_extended():
    with pytest.raises(ValueError, match="do not grow by the same with each block"):
        count_weights(make(*map(Block, range(12))), power=2)
