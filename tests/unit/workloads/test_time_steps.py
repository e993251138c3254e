"""Time steps of recurrent layers, and what each of them reads, against counts made by hand."""

import pytest

from workloads.registry import workload
from workloads.spec import WorkloadSpec
from workloads.time_steps import recurrent_reads, time_steps


@pytest.mark.parametrize(
    ("name", "options", "steps", "values"),
    [
        ("imdb_bilstm", {}, 80, 2 * 32 * (4 * 32)),
        ("imdb_bigru", {}, 80, 2 * 32 * (3 * 32)),
        ("imdb_bilstm", {"sequence_length": 200, "units": 64}, 200, 2 * 64 * (4 * 64)),
        ("imdb_bigru", {"layers": 3}, 3 * 80, 2 * 32 * (3 * 32)),
        ("mnist_cnn", {}, 0, 0),
        ("gpt2", {"size": "tiny"}, 0, 0),
    ],
)
def test_both_directions_go_together_and_layers_one_after_the_other(
    name: str, options: dict[str, int], steps: int, values: int
) -> None:
    """Values: of the recurrent kernels of both directions, read forward and backward in each time step."""
    spec = workload(name, options)
    assert isinstance(spec, WorkloadSpec)
    network = spec.networks["model"]
    assert (time_steps(network), recurrent_reads(network)) == (steps, 2 * steps * values)
