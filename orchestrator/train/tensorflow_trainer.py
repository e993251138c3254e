"""Data-parallel training with TensorFlow and Keras: one custom loop under every distribution strategy."""

import os
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

import keras
import tensorflow as tf

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.base import WorkerJob
from orchestrator.train.environment import cpu_model, tpu_name
from orchestrator.train.evaluation import Logits, quality_of
from orchestrator.train.precision import PRECISIONS, label_of
from orchestrator.train.tensorflow_strategy import strategy_of
from workloads.data.batches import Batches, Images
from workloads.sequential_keras import state_of
from workloads.spec import Sgd, WorkloadSpec

_KINDS: Mapping[str, DeviceKind] = {"CPU": "cpu", "GPU": "gpu", "TPU": "tpu"}
_PRODUCTS = ("Conv2D", "MatMul")


class TensorFlowTrainer:
    """Never `keras.Model.fit`: it raises under MultiWorkerMirroredStrategy (keras 3.15, its issue 20585).

    Run on CPUs; the paths of GPUs and of a TPU follow the documentation and have not been run.
    """

    def __init__(self) -> None:
        self.samples = 0
        self._loss: Any = None

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Strategy, model and optimizer in its scope, and each replica's share of every batch."""
        precision = PRECISIONS[job.precision]
        _require_keras_on_tensorflow()
        self._strategy = strategy_of(job)
        tf.config.experimental.enable_tensor_float_32_execution(precision.tf32)
        keras.mixed_precision.set_global_policy(precision.keras_policy)
        keras.utils.set_random_seed(job.trial.seed)
        with self._strategy.scope():
            self._model = resolve_name(workload.keras_builder)(workload, job.trial.seed)
            self._optimizer = _optimizer(workload.optimizer, scale_loss=precision.scale_loss)
            self._optimizer.build(self._model.trainable_variables)
        self._job = job
        self._batches = batches
        self._devices = self._local_devices()
        self._staged = [self._stage(i) for i in range(min(batches.num_batches, job.trial.steps))]
        self._train = tf.function(self._train_everywhere, autograph=False)
        self._infer = tf.function(self._infer_everywhere, autograph=False)

    def step(self, index: int) -> None:
        """Forward, backward, update with the gradients' sum over all replicas: one traced function."""
        images, labels, num_samples = self._staged[index % len(self._staged)]
        self._loss = self._train(images, labels)
        self.samples += num_samples

    def synchronize(self) -> None:
        """Wait for the devices of this process: `sync_devices` asks those of other workers too, and fails."""
        for device in self._devices:
            with tf.device(device):
                tf.raw_ops.SyncDevice()
        if self._loss is not None:
            for loss in self._strategy.experimental_local_results(self._loss):
                loss.numpy()  # on a TPU a step is one program: its result is there when all of it is done

    def loss(self) -> float:
        """Sum over the replicas of their shares of the global mean."""
        return float(self._strategy.reduce("SUM", self._loss, axis=None))

    def compile_count(self) -> int | None:
        """How often the step has been traced."""
        return int(self._train.experimental_get_tracing_count())

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Accuracy and loss; each replica computes all of it, and all have the same weights."""
        chunk = self._batches.global_batch_size // self._job.replicas
        return quality_of(self._predict, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Where this process keeps its copies of the weights, and the dtype of the step's first product."""
        specs = [tf.DeviceSpec.from_string(device) for device in self._devices]
        kind = _KINDS[specs[0].device_type]
        return DeviceFacts(
            kind=kind,
            name=_driver_name(kind),
            count=len(set(self._devices)),
            precision=label_of(kind, self._traced_dtype(), float32_is_rounded=_float32_is_rounded(kind)),
            peak_memory_bytes=_peak_memory_bytes(specs) if kind == "gpu" else None,
        )

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return state_of(self._model)

    def close(self) -> None:
        """Meet all workers a last time: one that leaves early aborts the others' coordination service."""
        if self._job.world_size > 1:
            self._strategy.reduce("SUM", self._loss, axis=None)

    def _local_devices(self) -> list[str]:
        """Device of each replica of this process, asked of a weight's copies."""
        weight = self._model.trainable_variables[0].value
        return [each.device for each in self._strategy.experimental_local_results(weight)]

    def _stage(self, index: int) -> tuple[Any, Any, int]:
        """Batch `index`: images and labels per replica, and how many samples this process has."""

        def part(axis: int) -> Any:
            return self._strategy.experimental_distribute_values_from_function(
                lambda context: self._share(index, context.replica_id_in_sync_group)[axis]
            )

        images, labels = part(0), part(1)
        return images, labels, sum(len(each) for each in self._strategy.experimental_local_results(labels))

    def _share(self, index: int, replica: int) -> tuple[Any, Any]:
        images, labels = self._batches.shard(index, rank=replica, world_size=self._job.replicas)
        with tf.device(self._devices[replica % len(self._devices)]):
            return tf.constant(images), tf.constant(labels, tf.int64)  # int32 stays on the host

    def _train_everywhere(self, images: Any, labels: Any) -> Any:
        return self._strategy.run(self._train_replica, args=(images, labels))

    def _train_replica(self, images: Any, labels: Any) -> Any:
        """One replica's part of a step. Its loss is a share: the sum over replicas is the global mean."""
        with tf.GradientTape() as tape:
            logits = self._model(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_sum(losses) / self._batches.global_batch_size
            scaled = self._optimizer.scale_loss(loss)
        weights = self._model.trainable_variables
        self._optimizer.apply_gradients(zip(tape.gradient(scaled, weights), weights, strict=True))
        return loss

    def _infer_everywhere(self, images: Any) -> Any:
        return self._strategy.run(self._model, args=(images,))

    def _predict(self, images: Images) -> Logits:
        first, *_ = self._strategy.experimental_local_results(self._infer(tf.constant(images)))
        logits: Logits = first.numpy()
        return logits

    def _traced_dtype(self) -> str:
        """Dtype of the first product in the graph that was traced for the step."""
        images, labels, _ = self._staged[0]
        operations = self._train.get_concrete_function(images, labels).graph.get_operations()
        return next(str(each.outputs[0].dtype.name) for each in operations if each.type in _PRODUCTS)


def _require_keras_on_tensorflow() -> None:
    if keras.backend.backend() != "tensorflow":
        raise TrialError(
            "environment",
            f"keras runs on {keras.backend.backend()!r}; set KERAS_BACKEND=tensorflow",
        )


def _optimizer(sgd: Sgd, *, scale_loss: bool) -> Any:
    """Keras has v <- momentum v - learning_rate g; w <- w + v: the same for a constant learning rate."""
    optimizer = keras.optimizers.SGD(sgd.learning_rate, momentum=sgd.momentum)
    return keras.optimizers.LossScaleOptimizer(optimizer) if scale_loss else optimizer


def _float32_is_rounded(kind: DeviceKind) -> bool:
    """TensorFlow has a switch for GPUs; on a TPU it always rounds."""
    return kind == "tpu" or bool(tf.config.experimental.tensor_float_32_execution_enabled())


def _driver_name(kind: DeviceKind) -> str:
    if kind == "cpu":
        return cpu_model()
    if kind == "gpu":
        gpu = tf.config.get_visible_devices("GPU")[0]
        return str(tf.config.experimental.get_device_details(gpu)["device_name"])
    return tpu_name(os.environ.get("TPU_ACCELERATOR_TYPE", "unknown"))  # TensorFlow itself does not tell


def _peak_memory_bytes(specs: list[Any]) -> int:
    """Of the device of this process that needed most."""
    names = {f"{spec.device_type}:{spec.device_index}" for spec in specs}
    return max(int(tf.config.experimental.get_memory_info(name)["peak"]) for name in names)
