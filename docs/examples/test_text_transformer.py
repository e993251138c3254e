"""Both frameworks compute the same network: from equal weights come equal logits."""

import numpy as np
import torch
from text_transformer.spec import Options, network

from workloads.shapes import network_parameters
from workloads.with_keras import network as with_keras
from workloads.with_torch import network as with_torch


def test_logits_agree_within_1e_4() -> None:
    graph, random = network(Options(blocks=2)), np.random.default_rng(1)
    tokens = random.integers(0, 64, (16, *graph.input_shape), dtype=np.int32)
    weights = {
        name: random.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in network_parameters(graph).items()
    }
    ours, theirs = with_torch.build(graph, seed=0), with_keras.build(graph, seed=0)
    with_torch.load_state(ours, weights)
    with_keras.load_state(theirs, graph, weights)
    with torch.no_grad():
        logits = ours(torch.from_numpy(tokens)).numpy()
    assert np.abs(logits).max() > 0.1
    assert np.abs(logits - theirs(tokens).numpy()).max() < 1e-4
