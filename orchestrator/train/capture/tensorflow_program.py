"""The program of a TensorFlow training step of one replica, as XLA gets it; nothing is executed.

A distribution strategy adds the sum of the gradients over the replicas. Here the partitioner adds it, when
the batch is split over the devices.
"""

import sys
from typing import Any

import keras
import tensorflow as tf

from orchestrator.train.capture.request import CapturedStep, CaptureRequest, batch_shapes, serve
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.tensorflow_trainer import differentiate
from workloads.with_keras.recurrent import let_xla_compile
from workloads.with_keras.training import Networks, optimizer_of


def capture(request: CaptureRequest) -> CapturedStep:
    """Trace the step: losses, gradients and updates; variables are parameters that the outputs overwrite."""
    spec, precision = request.spec(), PRECISIONS[request.precision]
    keras.mixed_precision.set_global_policy(precision.keras_policy)
    networks, phase = Networks(spec, 0), spec.phases[-1]
    for model in networks.models.values():
        let_xla_compile(model)
    trained = networks.trained_in(phase)
    optimizers: dict[str, Any] = {}
    for name, variables in trained.items():
        optimizers[name] = optimizer_of(phase.optimizers[name])
        optimizers[name].build(variables)
    shapes = batch_shapes(spec, request.global_batch_size)

    def step(*tensors: Any) -> Any:
        losses, gradients = differentiate(
            networks,
            phase,
            dict(zip(shapes, tensors, strict=True)),
            optimizers=optimizers,
            trained=trained,
            global_batch_size=request.global_batch_size,
        )
        for name, optimizer in optimizers.items():
            optimizer.apply_gradients(zip(gradients[name], trained[name], strict=True))
        return losses

    traced = tf.function(step, autograph=False, jit_compile=True)
    signature = [tf.TensorSpec(shape, getattr(tf, dtype)) for shape, dtype in shapes.values()]
    module = traced.experimental_get_compiler_ir(*signature)(stage="hlo_serialized")
    return CapturedStep(module=module, batch_parameters=tuple(range(len(shapes))), host_seconds=None)


if __name__ == "__main__":
    serve(capture, sys.argv[1])
