"""Recurrent networks on XLA devices beside the same on a CPU.

As a script, in torch_xla's own environment: `python recurrent_on_xla.py NUM_DEVICES PRECISION...`. It writes
what it found, a line for each cell.
"""

import json
import os
import sys
from typing import Any

os.environ |= {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": sys.argv[1]}

import numpy as np
import torch
import torch_xla
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_xla import runtime
from torch_xla.core import xla_model
from torch_xla.distributed import spmd

from workloads.layers import Dense, Embedding, Recurrent
from workloads.network import Network, sequential
from workloads.with_torch.network import TorchNetwork, build
from workloads.with_torch.recurrent import fused_recurrent

BATCH = 8
VOCABULARY = 50
STEPS = 80


def network(cell: Any, steps: int) -> Network:
    """Two recurrent layers, the first of which hands on every step."""
    return sequential(
        (steps,),
        Embedding(vocabulary=VOCABULARY, units=6),
        Recurrent(cell=cell, units=5, sequences=True),
        Recurrent(cell=cell, units=7),
        Dense(units=2),
    )


def found_of(cell: str, precision: str) -> dict[str, Any]:
    """Compare logits and gradients on XLA with a CPU's, and return the dtype of the first cell."""
    ours, theirs = build(network(cell, STEPS), 1), build(network(cell, STEPS), 1).to(torch_xla.device())
    dtypes: list[str] = []
    theirs.nodes[1].register_forward_hook(lambda *seen: dtypes.append(str(seen[-1].dtype)))
    expected, found = (logits_of(value, precision) for value in (ours, theirs))
    torch_xla.sync()  # else each array that is read compiles a program of its own
    return {
        "logits": (found.detach().cpu() - expected.detach()).abs().max().item(),
        "gradients": max(
            (one.grad.cpu() - other.grad).abs().max().item()
            for one, other in zip(trained(theirs), trained(ours), strict=True)
        ),
        "dtypes": dtypes,
        "fused": fused_recurrent(theirs),
    }


def instructions_of(cell: str, steps: int) -> int:
    """Length of a training step's program; it is not compiled."""
    model = build(network(cell, steps), 1).to(torch_xla.device())
    logits_of(model, "fp32")
    program = torch_xla._XLAC._get_xla_tensors_hlo([item.grad for item in trained(model)])
    torch_xla._XLAC._clear_pending_irs(str(torch_xla.device()))
    return len(program.splitlines())


def logits_of(model: TorchNetwork, precision: str) -> Tensor:
    """Forwards and backwards once, on the device of the model."""
    random = np.random.default_rng(2)
    tokens = random.integers(0, VOCABULARY, (BATCH, *model.spec.input_shape), dtype=np.int32)
    hosted = torch.from_numpy(tokens), torch.from_numpy(random.integers(0, 2, BATCH))
    kind, lowered = next(model.parameters()).device.type, precision == "bf16"
    tokens, classes = hosted if kind == "cpu" else map(on_devices, hosted)
    with torch.autocast(kind, dtype=torch.bfloat16) if lowered else torch.autocast("cpu", enabled=False):
        logits: Tensor = model(tokens)
    torch.autograd.backward(cross_entropy(logits, classes))
    return logits


def trained(model: TorchNetwork) -> list[nn.Parameter]:
    """All but an LSTM's second bias."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def on_devices(host: Tensor) -> Tensor:
    """Each device gets its part of the batch."""
    sharding = None
    if runtime.is_spmd():
        count = runtime.addressable_runtime_device_count()
        mesh = spmd.Mesh(np.arange(count), (count,), ("data",))
        sharding = spmd.ShardingSpec(mesh, ("data", *[None] * (host.ndim - 1)))
    sent: list[Tensor] = xla_model.send_cpu_data_to_device([host], torch_xla.device(), sharding)
    return sent[0]


if __name__ == "__main__":
    if sys.argv[1] != "1":
        runtime.use_spmd()
    torch.zeros(1, device=torch_xla.device()).item()  # before autograd runs on a CPU: it counts devices once
    for cell in ("lstm", "gru"):
        said = {item: found_of(cell, item) for item in sys.argv[2:]}
        lengths = [instructions_of(cell, steps) for steps in (8, STEPS)]
        sys.stdout.write(json.dumps({"cell": cell, "lengths": lengths} | said) + "\n")
