"""Repeated blocks of models: declared, named, of Hugging Face, and found by their class."""

import pytest

from workloads.jobs import JobError
from workloads.layers import Add, Dense, Embedding
from workloads.network import Draft
from workloads.registry import workload
from workloads.sequence_layers import TiedDense

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 (skipped above without torch)

from workloads.native.torch_blocks import find_blocks  # noqa: E402 (likewise)
from workloads.with_torch.network import build  # noqa: E402 (likewise)


class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.product = nn.LayerNorm(4), nn.Linear(4, 4)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Half()


class Wide(Pair):
    pass


def build_stack(*parts: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Embedding(8, 4), nn.ModuleList(parts), nn.Linear(4, 2))


@pytest.mark.parametrize(
    ("name", "size", "count", "length"),
    [("gpt2", "small", 12, 10), ("llama_style", "1.1b", 22, 14), ("bert_base", "base", 12, 12)],
)
def test_declared_transformers_name_their_blocks(name: str, size: str, count: int, length: int) -> None:
    network = workload(name, {"size": size}).networks["model"]
    assert len(network.blocks) == count
    assert {len(block) for block in network.blocks} == {length}
    signatures = {tuple(network.nodes[index].layer for index in block) for block in network.blocks}
    assert len(signatures) == 1


def test_modules_of_a_declared_block_hold_its_weights() -> None:
    model = build(workload("gpt2", {}).networks["model"], seed=None)
    names = [name for name, _ in model.named_parameters()]
    blocks = model.make_blocks()
    assert len(blocks) == 2
    assert [name for name, _ in model.named_parameters()] == names
    sizes = {sum(weight.numel() for weight in block.parameters()) for block in blocks}
    assert sizes == {12 * 64 * 64 + 13 * 64}


@pytest.mark.parametrize("name", ["mnist_cnn", "imdb_bilstm", "resnet18"])
def test_other_declared_networks_have_no_blocks(name: str) -> None:
    assert workload(name, {}).networks["model"].blocks == ()


@pytest.mark.parametrize("fault", ["input", "output", "table"])
def test_a_block_with_a_second_input_or_output_is_refused(fault: str) -> None:
    draft = Draft(input_shape=(4,))
    table = draft.add(Embedding(vocabulary=8, units=4))
    first = draft.add(Dense(units=4))
    with draft.mark_block():
        inner = draft.chain(Dense(units=4), Dense(units=4))
        if fault == "input":
            draft.add(Add(), table, inner)
        if fault == "table":
            draft.add(TiedDense(embedding=table, units=8))
    if fault == "output":
        draft.add(Add(), first + 1, inner)
    with pytest.raises(ValueError, match=r"a block of nodes 2 to \d takes node 1 alone"):
        draft.done()


def test_the_class_that_is_repeated_most_makes_the_blocks_and_the_outer_of_two() -> None:
    parts = [Pair() for _ in range(3)]
    assert find_blocks(build_stack(*parts)) == tuple(parts)
    mixed = [*parts, Wide()]
    assert find_blocks(build_stack(*mixed)) == tuple(part.inner for part in mixed)
    assert find_blocks(build_stack(Pair())) == ()
    nested = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    assert find_blocks(nn.Sequential(nested, nn.Linear(4, 2))) == ()
    assert find_blocks(nn.Linear(4, 4)) == ()


def test_named_classes_and_their_subclasses_make_the_blocks() -> None:
    parts = [Pair(), Wide(), Pair()]
    model = build_stack(*parts, parts[0])
    assert find_blocks(model, (Pair,)) == tuple(parts)
    assert find_blocks(model, (Wide,)) == (parts[1],)
    assert find_blocks(model, (Half,)) == tuple(part.inner for part in parts)
    with pytest.raises(JobError, match="blocks names Conv1d, and the model has no module of that class"):
        find_blocks(model, (nn.Conv1d,))


def test_a_model_of_hugging_face_names_its_blocks() -> None:
    parts = [Wide(), Wide(), Pair(), Pair(), Pair()]
    model = build_stack(*parts)
    model._no_split_modules = ["Wide", "Absent"]  # type: ignore[assignment]  # as transformers sets it
    assert find_blocks(model) == tuple(parts[:2])
