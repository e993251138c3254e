"""FLOPs and bytes of PyTorch jobs, counted without being told, against counts made by hand."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from workloads.flops import train_step_flops, winograd_flops
from workloads.jobs import JobError, TorchJob
from workloads.native import torch_cost
from workloads.native.torch_cost import count_cost
from workloads.registry import workload
from workloads.spec import JobCost, WorkloadSpec
from workloads.traffic import train_step_bytes
from workloads.with_torch.network import build


def cost(
    model: Callable[[], nn.Module],
    inputs: Tensor,
    *,
    loss: Any = None,
    optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
) -> JobCost:
    def job() -> TorchJob:
        made = model()
        return TorchJob(
            model=made,
            loss=loss or (lambda model, batch: model(batch[0]).float().square().mean()),
            optimizer=optimizer(made.parameters(), lr=0.1),
            data=TensorDataset(inputs),
        )

    return count_cost(job(), job)


def padded(lengths: list[int], *, reads_values: bool = False) -> JobCost:
    """A layer over sequences that are padded to the longest of their batch."""

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        scale = 1.0 if not reads_values else batch.sum().item()
        return scale * model(batch).square().mean()

    def job() -> TorchJob:
        model = nn.Linear(4, 8)
        return TorchJob(
            model=model,
            loss=loss,
            optimizer=torch.optim.SGD(model.parameters(), lr=1e-9),
            data=[torch.ones(length, 4) for length in lengths],
            collate=lambda samples: nn.utils.rnn.pad_sequence(samples, batch_first=True),
        )

    return count_cost(job(), job)


def test_repeated_blocks_have_the_forward_cost_of_their_layers() -> None:
    def model() -> nn.Module:
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 3)

    blocks = cost(model, torch.ones(16, 5, 8)).blocks
    assert blocks is not None
    products = 2 * 5 * (4 * 8 * 8 + 2 * 8 * 16)
    attention = 4 * 5 * 5 * 8
    assert blocks.product_flops_per_sample == 3 * products
    assert blocks.flops_per_sample == 3 * (products + attention)
    assert blocks.layers == 3 * 6
    assert blocks.weight_bytes == 3 * 4 * (4 * 8 * 8 + 2 * 8 * 16 + 4 * 8 + 16 + 8 + 4 * 8)
    assert blocks.value_bytes_per_sample > 3 * 4 * 5 * 8 * 10


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, nn.Identity])
def test_a_model_without_blocks_or_with_batch_normalisation_in_them_has_none_to_compute_again(
    norm: Callable[[int], nn.Module],
) -> None:
    count = 2 if norm is nn.BatchNorm1d else 1
    parts = [nn.Sequential(nn.Linear(4, 4), norm(4)) for _ in range(count)]
    assert cost(lambda: nn.Sequential(*parts, nn.Linear(4, 2)), torch.ones(16, 4)).blocks is None


TOKEN_FLOPS = 2 * 2 * 4 * 8


@pytest.mark.parametrize("reads_values", [False, True])
def test_padded_sequences_are_counted_as_long_as_batches_are(reads_values: bool) -> None:
    found = padded([512] * 10 + [16] * 90, reads_values=reads_values)
    for batch in (1, 4, 16, 64, 256):
        chance = 1 - 0.9**batch  # that a batch has a long one
        expected = batch * TOKEN_FLOPS * (16 + chance * (512 - 16))
        assert found.step_flops(batch) == pytest.approx(expected, rel=0.4 if batch == 1 else 0.25)
        deviation = math.sqrt(chance * (1 - chance)) * (512 - 16) / (16 + chance * (512 - 16))
        assert found.lengths_at(batch).deviation == pytest.approx(deviation, rel=0.35, abs=0.1)


class Deep(nn.Module):
    """Equal blocks over tokens, of which some may cost more than others for a reason that is not seen."""

    def __init__(self, *, is_uneven: bool = False) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(16, 8), nn.Linear(8, 16)
        layers = (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(9))
        self.layers, self._is_uneven = nn.ModuleList(layers), is_uneven

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.embedding(tokens)
        for number, layer in enumerate(self.layers):
            for _ in range(number if self._is_uneven else 1):
                values = layer(values)
        logits: Tensor = self.head(values)
        return logits


def deep(*, lengths: tuple[int, ...] = (6,), is_uneven: bool = False) -> TorchJob:
    model = Deep(is_uneven=is_uneven)
    model.head.bias.requires_grad_(False)
    return TorchJob(
        model=model,
        loss=lambda model, batch: model(batch).square().mean(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=0.1),
        data=[torch.ones(lengths[number % len(lengths)], dtype=torch.int64) for number in range(40)],
        collate=lambda samples: nn.utils.rnn.pad_sequence(samples, batch_first=True),
    )


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 3), ({"lengths": (5, 9, 30)}, 3), ({"is_uneven": True}, 9)],
    ids=["one length", "unequal lengths", "uneven costs"],
)
def test_a_job_of_many_equal_blocks_costs_what_all_of_them_do(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], most: int
) -> None:
    depths: list[int] = []
    forward = Deep.forward

    def note(model: Deep, tokens: Tensor) -> Tensor:
        depths.append(len(model.layers))
        return forward(model, tokens)

    monkeypatch.setattr(Deep, "forward", note)
    build = partial(deep, **options)
    found = count_cost(build(), build)
    assert max(depths) == most
    monkeypatch.setattr(torch_cost, "find_equal_list", lambda *_: None)
    assert found == count_cost(build(), build)


def test_a_job_that_keeps_its_model_is_refused_where_all_blocks_have_to_be_counted() -> None:
    kept = deep(is_uneven=True)
    with pytest.raises(JobError, match="build returns the same model again"):
        count_cost(kept, lambda: kept)


def test_the_order_of_the_samples_does_not_change_their_count() -> None:
    lengths = [512] + [16] * 99
    found = padded(lengths)
    assert found == padded(lengths[::-1])
    assert 16 * TOKEN_FLOPS < found.step_flops(64) / 64 < 512 * TOKEN_FLOPS


def test_samples_of_one_length_have_no_spread() -> None:
    found = padded([16] * 20)
    assert (found.flops_per_sample, found.flops_per_step, found.lengths) == (16 * TOKEN_FLOPS, 0, ())
    assert found.lengths_at(64).deviation == 0.0


def test_a_batch_that_is_a_list_of_samples_is_counted_with_its_samples() -> None:
    def job() -> TorchJob:
        model = nn.Linear(4, 8)
        return TorchJob(
            model=model,
            loss=lambda model, batch: sum(model(one).square().mean() for one in batch),
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data=[torch.ones(4) for _ in range(6)],
            collate=list,
        )

    found = count_cost(job(), job)
    assert (found.flops_per_sample, found.flops_per_step) == (2 * 2 * 4 * 8, 0)


def test_a_dense_layer_costs_two_products_and_no_gradient_of_the_input() -> None:
    found = cost(lambda: nn.Linear(4, 3), torch.randn(8, 4))
    assert (found.flops_per_sample, found.flops_per_step) == (2 * 2 * 4 * 3, 0)
    assert found.num_weights == 15
    assert found.gradient_bytes == 4 * 15


@pytest.mark.parametrize("name", ["mnist_cnn", "resnet18", "vgg11"])
def test_a_declared_network_costs_what_it_is_declared_to_cost(name: str) -> None:
    spec = workload(name, {})
    assert isinstance(spec, WorkloadSpec)
    network = spec.networks["model"]
    found = cost(lambda: build(network, seed=0), torch.randn(4, *network.input_shape))
    assert found.step_flops(64) == pytest.approx(train_step_flops(spec, 64), rel=1e-12)
    assert found.winograd_flops_per_sample == pytest.approx(winograd_flops(spec), rel=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 4, 3, stride=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, groups=4),
        nn.Conv2d(4, 4, (1, 3)),
        nn.ConvTranspose2d(4, 4, 3),
    ],
    ids=str,
)
def test_other_convolutions_are_not_shortened_by_winograds_algorithm(layer: nn.Module) -> None:
    found = cost(lambda: layer, torch.randn(4, 4, 8, 8))
    assert found.winograd_flops_per_sample == 0.0 < found.flops_per_sample


def test_the_bytes_of_a_declared_network_are_within_a_factor_of_two_of_the_analytic_ones() -> None:
    spec = workload("mnist_cnn", {})
    assert isinstance(spec, WorkloadSpec)
    network = spec.networks["model"]
    found = cost(lambda: build(network, seed=0), torch.randn(4, *network.input_shape))
    analytic = train_step_bytes(spec, 64, value_bytes=4)
    assert analytic / 2 < found.step_bytes(64, value_bytes=4) < 2 * analytic


def test_attention_costs_its_projections_and_two_products_of_the_length() -> None:
    length, units, hidden = 10, 64, 128
    found = cost(
        lambda: nn.Sequential(
            nn.Linear(units, units), nn.TransformerEncoderLayer(units, 4, hidden, batch_first=True)
        ),
        torch.randn(4, length, units),
    )
    products = 4 * units * units + 2 * units * hidden
    forward = 2 * length * products + 2 * 2 * length * length * units
    assert found.flops_per_sample == 3 * forward + 2 * (2 * length * units * units)


def test_a_recurrent_layer_costs_its_products_at_every_step() -> None:
    steps, inputs, units = 10, 8, 16

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTM(inputs, units, batch_first=True)

        def forward(self, sequence: Tensor) -> Tensor:
            outputs: Tensor = self.cell(sequence)[0]
            return outputs

    found = cost(Last, torch.randn(4, steps, inputs))
    forward = 2 * steps * 4 * units * (inputs + units)
    assert 2 * forward < found.flops_per_sample <= 3 * forward
    assert found.time_steps == steps


@pytest.mark.parametrize(
    ("cell", "is_packed", "steps"),
    [
        (nn.GRU(8, 16, num_layers=2, bidirectional=True, batch_first=True), False, 2 * 10),
        (nn.LSTM(8, 16, batch_first=True), True, 7),
        (nn.RNN(8, 16, num_layers=3), False, 3 * 10),
        (nn.Linear(8, 16), False, 0),
    ],
    ids=["batch first", "packed", "time first", "not recurrent"],
)
def test_time_steps_of_recurrent_layers_are_counted_layer_by_layer(
    cell: nn.Module, is_packed: bool, steps: int
) -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        sequence = batch[0] if getattr(model, "batch_first", True) else batch[0].transpose(0, 1)
        if is_packed:
            lengths = [7] * len(sequence)
            sequence = nn.utils.rnn.pack_padded_sequence(sequence, torch.tensor(lengths), batch_first=True)
        outputs = model(sequence)
        outputs = outputs[0] if isinstance(outputs, tuple) else outputs
        values: Tensor = outputs.data if is_packed else outputs
        return values.square().mean()

    found = cost(lambda: cell, torch.randn(4, 10, 8), loss=loss)
    assert (found.time_steps, found.recurrent_bytes) == (steps, 0.0)


def test_code_that_looks_at_values_is_counted_on_real_samples() -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        outputs: Tensor = model(batch[0])
        return outputs.mean() if batch[0].sum().item() > -1e9 else outputs.sum()

    assert cost(lambda: nn.Linear(4, 3), torch.randn(8, 4), loss=loss).flops_per_sample == 2 * 2 * 4 * 3


def test_an_optimizer_with_two_slots_moves_twelve_values_a_weight_more_than_one_without() -> None:
    plain = cost(lambda: nn.Linear(4, 3), torch.randn(8, 4))
    adam = cost(lambda: nn.Linear(4, 3), torch.randn(8, 4), optimizer=torch.optim.Adam)
    assert adam.weight_bytes - plain.weight_bytes == 2 * 2 * 4 * 15


def test_half_as_many_bytes_a_value_halve_the_traffic_of_samples_alone() -> None:
    found = cost(lambda: nn.Linear(4, 3), torch.randn(8, 4))
    samples = found.step_bytes(64, value_bytes=4) - found.weight_bytes
    assert found.step_bytes(64, value_bytes=2) == found.weight_bytes + samples / 2


def test_a_shared_weight_counts_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(16, 8)
            self.head = nn.Linear(8, 16, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens: Tensor) -> Tensor:
            logits: Tensor = self.head(self.embedding(tokens))
            return logits

    found = cost(Tied, torch.randint(16, (8, 5)))
    assert found.num_weights == 16 * 8
    assert found.flops_per_sample == 3 * 2 * 5 * 16 * 8


def test_weights_without_a_gradient_are_seen() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, inputs: Tensor) -> Tensor:
            outputs: Tensor = self.used(inputs)
            return outputs

    assert cost(Half, torch.randn(8, 4)).has_unused_weights
    assert not cost(lambda: nn.Linear(4, 3), torch.randn(8, 4)).has_unused_weights


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (lambda model, batch: model(batch[0]).sum(1), "the loss has the shape (2,), expected one value"),
        (lambda _, batch: batch[0].sum(), "the loss does not depend on a parameter of the model"),
        (lambda _, __: 3.0, "the loss is a float, expected a tensor with one value"),
    ],
)
def test_a_loss_that_cannot_be_trained_is_named(loss: Any, reason: str) -> None:
    with pytest.raises(JobError) as refused:
        cost(lambda: nn.Linear(4, 3), torch.randn(8, 4), loss=loss)
    assert reason in str(refused.value)


def test_the_criterion_of_a_batch_of_inputs_and_targets_is_a_loss() -> None:
    model = nn.Linear(4, 3)
    job = TorchJob(
        model=model,
        loss=functional.cross_entropy,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data=TensorDataset(torch.randn(8, 4), torch.randint(3, (8,))),
    )
    with pytest.raises(TypeError):  # a function takes the model and the batch
        count_cost(job, lambda: job)
