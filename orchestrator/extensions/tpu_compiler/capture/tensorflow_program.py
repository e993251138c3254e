"""The program of a TensorFlow training step of one replica, as XLA gets it; nothing is executed.

A distribution strategy adds the sum of the gradients over the replicas. Here the partitioner adds it, when
the batch is split over the devices.
"""

import sys
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from orchestrator.train.capture.request import CapturedStep, CaptureRequest, batch_shapes, serve
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.tensorflow_trainer import differentiate
from workloads.jobs import KerasJob
from workloads.native.code import find_builder
from workloads.native.keras_step import compute_loss, first_batch, require_weights
from workloads.with_keras.recurrent import let_xla_compile
from workloads.with_keras.training import Networks, build_optimizer


def capture(request: CaptureRequest) -> CapturedStep:
    """Trace the step: losses, gradients and updates; variables are parameters that the outputs overwrite."""
    keras.mixed_precision.set_global_policy(PRECISIONS[request.precision].keras_policy)
    if request.is_native:
        return _native(request)
    spec = request.spec()
    networks, phase = Networks(spec, 0), spec.phases[-1]
    for model in networks.models.values():
        let_xla_compile(model)
    trained = networks.trained_in(phase)
    optimizers: dict[str, Any] = {}
    for name, variables in trained.items():
        optimizers[name] = build_optimizer(phase.optimizers[name])
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

    return _traced(step, [tf.TensorSpec(shape, getattr(tf, dtype)) for shape, dtype in shapes.values()])


def _native(request: CaptureRequest) -> CapturedStep:
    """Trace the step of a Keras job."""
    assert request.origin is not None, "native jobs lie in a user's folder"
    job = find_builder(request.origin, "keras", request.workload_options, job_class=KerasJob)()
    require_weights(job)
    weights = job.model.trainable_variables
    job.optimizer.build(weights)
    batch = first_batch(job, request.global_batch_size)

    def step(*tensors: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = compute_loss(job, tf.nest.pack_sequence_as(batch, tensors))
        job.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return _traced(step, [tf.TensorSpec(array.shape, array.dtype) for array in tf.nest.flatten(batch)])


def _traced(step: Callable[..., Any], signature: list[Any]) -> CapturedStep:
    traced = tf.function(step, autograph=False, jit_compile=True)
    module = traced.experimental_get_compiler_ir(*signature)(stage="hlo_serialized")
    return CapturedStep(module=module, batch_parameters=tuple(range(len(signature))), host_seconds=None)


if __name__ == "__main__":
    serve(capture, sys.argv[1])
