"""The PyTorch and Keras networks of one spec are one function, with the same gradients and the same cost."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from workloads.flops import forward_flops, train_step_flops
from workloads.initial import initial_weights
from workloads.layers import BatchNorm, Conv2d, Dense, DepthwiseConv2d, Recurrent
from workloads.registry import workload, workload_names
from workloads.shapes import input_shapes_of, parameters_of
from workloads.spec import Phase, Sgd, Supervised, WorkloadSpec

torch = pytest.importorskip("torch")
pytest.importorskip("tensorflow")

from twins import (  # noqa: E402 (skipped above where a framework is missing)
    BATCH,
    Twins,
    batch_of,
    inputs_of,
    keras_after,
    output_of_keras,
    output_of_torch,
    small_spec,
    steady,
    torch_after,
    twins_of,
)

TOLERANCE = 1e-4
LONG: frozenset[str] = frozenset()

@pytest.fixture(scope="module", params=workload_names())
def twins(request: pytest.FixtureRequest) -> Twins:
    return twins_of(small_spec(request.param))

def test_logits(twins):
    import time
    t=time.time(); steady(twins)
    for name, network in twins.ours.named():
        a=output_of_torch(network); b=output_of_keras(twins.theirs.models[name], network.spec)
        print(f"\n{twins.spec.name}.{name} diff {np.abs(a-b).max():.1e} scale {np.abs(a).max():.2g} {time.time()-t:.1f}s")

def is_deep(spec):
    return isinstance(spec.phases[-1].protocol, Supervised) and any(isinstance(n.layer, BatchNorm) for x in spec.networks.values() for n in x.nodes)

@pytest.mark.parametrize("steps",[1,4])
def test_steps(twins, steps):
    import time
    t=time.time()
    spec=twins.spec
    for phase in spec.phases:
        tw=twins_of(spec, policy="float64" if is_deep(spec) else "float32")
        start=tw.ours.state(); t1=time.time()
        if steps==4: phase=replace(phase,optimizers={n:replace(o,learning_rate=o.learning_rate/float(__import__("os").environ["GENTLE"])) for n,o in phase.optimizers.items()})
        if steps==1: phase=replace(phase,optimizers={n:Sgd(learning_rate=1.0) for n in phase.optimizers})
        a=torch_after(tw,phase,steps=steps); t2=time.time(); b=keras_after(tw,phase,steps=steps); t3=time.time()
        worst=max(a,key=lambda n: np.abs(a[n]-b[n]).max())
        print(f"\n{spec.name} {phase.name} steps {steps} diff {np.abs(a[worst]-b[worst]).max():.1e} {worst} moved {max(np.abs(a[n]-start[n]).max() for n in a):.2g} build {t1-t:.1f} torch {t2-t1:.1f} keras {t3-t2:.1f}")
