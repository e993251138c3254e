"""Recurrent cells whose weights are cast by hand: for cuDNN, where autocast takes float16 for bfloat16."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from workloads.with_torch.recurrent import run_steps_in_dtype  # noqa: E402


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_the_steps_are_those_of_bf16_cells_and_gradients_reach_the_float32_weights(kind):
    torch.manual_seed(0)
    cells = kind(4, 8, batch_first=True, bidirectional=True)
    sequence = torch.randn(2, 5, 4).bfloat16()
    steps = run_steps_in_dtype(sequence, cells)
    low = kind(4, 8, batch_first=True, bidirectional=True)
    low.load_state_dict(cells.state_dict())
    assert steps.dtype == torch.bfloat16
    assert torch.equal(steps, low.bfloat16()(sequence)[0])
    steps.float().square().mean().backward()
    assert all(weight.grad.dtype == torch.float32 and weight.grad.any() for weight in cells.parameters())
    assert {weight.dtype for weight in cells.parameters()} == {torch.float32}
