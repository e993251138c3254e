"""Data-parallel training with TensorFlow and Keras: one custom loop under every distribution strategy."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.environment import cpu_model, tpu_name
from orchestrator.train.gce_metadata import slice_type
from orchestrator.train.measurement.evaluation import Outputs, compute_quality
from orchestrator.train.precision import PRECISIONS, find_precision_label
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.tensorflow_strategy import configure_strategy
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.spec import Phase, WorkloadSpec
from workloads.with_keras.network import named_variables
from workloads.with_keras.recurrent import let_xla_compile
from workloads.with_keras.training import Networks, build_optimizer, evaluated


def list_variables(networks: Networks, optimizers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """`weight.<canonical name>`, `slot.<network>.<index>` and `draws.<network>.<index>` in Keras' own order.

    Slots are all variables of an optimizer, the scale of the loss included; dropout draws from the last.
    """
    for name, model in networks.models.items():
        for key, variable in named_variables(model, networks.specs[name]):
            yield f"weight.{name}.{key}", variable
        weights = {id(weight) for weight in model.weights}
        drawing = [variable for variable in model.variables if id(variable) not in weights]
        yield from ((f"draws.{name}.{index}", source) for index, source in enumerate(drawing))
    for name, optimizer in optimizers.items():
        yield from ((f"slot.{name}.{index}", variable) for index, variable in enumerate(optimizer.variables))


def differentiate(
    networks: Networks,
    phase: Phase,
    batch: Mapping[str, Any],
    *,
    optimizers: Mapping[str, Any],
    trained: Mapping[str, list[Any]],
    global_batch_size: int,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the losses of a replica's part of a batch, as shares of the global mean, and their gradients."""
    with tf.GradientTape(persistent=len(trained) > 1) as tape:
        of_samples = networks.losses(phase, batch)
        losses = {name: tf.reduce_sum(losses) / global_batch_size for name, losses in of_samples.items()}
        scaled = {name: optimizers[name].scale_loss(loss) for name, loss in losses.items()}
    return losses, {name: tape.gradient(scaled[name], trained[name]) for name in losses}


_KINDS: Mapping[str, DeviceKind] = {"CPU": "cpu", "GPU": "gpu", "TPU": "tpu"}
_PRODUCTS = ("Conv2D", "MatMul", "BatchMatMulV2", "Einsum", "CudnnRNNV3")


class TensorFlowTrainer:
    """Never `keras.Model.fit`: it raises under MultiWorkerMirroredStrategy (keras 3.15, its issue 20585).

    Run on CPUs; the paths of GPUs and of a TPU follow the documentation and have not been run.
    """

    def __init__(self) -> None:
        self.samples = 0
        self._num_traces = 0
        self._losses: Mapping[str, Any] = {}

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Strategy, networks in its scope, and each replica's share of every batch."""
        self.open(job)
        with self._strategy.scope():
            self._networks = Networks(workload, job.trial.seed)
        if self._compiles:
            for model in self._networks.models.values():
                let_xla_compile(model)
        self._workload = workload
        self._batches = batches
        self._devices = self.find_devices(next(iter(self._networks.models.values())))
        num_staged = min(batches.num_batches, job.trial.steps) if batches.staged else 0
        self._staged = [self._batch(index) for index in range(num_staged)]
        self._infer = tf.function(self._infer_everywhere, autograph=False)

    def open(self, job: WorkerJob) -> None:
        """Configure TensorFlow and Keras for the trial, and make its strategy."""
        precision = PRECISIONS[job.precision]
        if keras.backend.backend() != "tensorflow":
            raise TrialError(
                "environment",
                f"keras runs on {keras.backend.backend()!r}; set KERAS_BACKEND=tensorflow",
            )
        self._job = job
        self._strategy = configure_strategy(job)
        tf.config.experimental.enable_tensor_float_32_execution(precision.tf32)
        keras.mixed_precision.set_global_policy(precision.keras_policy)
        keras.utils.set_random_seed(job.trial.seed)
        self._compiles = job.trial.trainer_options.get("compile") == "on"
        self._scale_loss = precision.scale_loss

    def begin(self, phase: Phase) -> None:
        """Make optimizers and trace a step of their own for the phase."""
        self._phase = phase
        trained = self._networks.trained_in(phase)
        with self._strategy.scope():
            optimizers = {name: build_optimizer(phase.optimizers[name]) for name in trained}
        self.train_with(optimizers, trained)

    def train_with(self, optimizers: Mapping[str, Any], trained: Mapping[str, list[Any]]) -> None:
        """Trace a step that trains these variables with these optimizers, both by network."""
        self._trained = trained
        with self._strategy.scope():
            self._optimizers = {
                name: self._scaled(optimizer, trained[name]) for name, optimizer in optimizers.items()
            }
        self._differentiate = self._losses_and_gradients
        if self._compiles:
            # Not the whole step: the sum over replicas cannot be compiled by XLA.
            self._differentiate = tf.function(self._differentiate, autograph=False, jit_compile=True)
        self._train = tf.function(self._train_everywhere, autograph=False)

    def rebalance(self) -> None:
        """Each replica keeps its share."""

    def step(self, index: int) -> None:
        """Forward, backward, update with the gradients' sum over all replicas: one traced function."""
        batch = self._staged[index % len(self._staged)] if self._staged else self._batch(index)
        self._losses = self._train(batch)
        self.samples += sum(len(result) for result in self._strategy.experimental_local_results(batch["x"]))

    def synchronize(self) -> None:
        """Wait for the devices of this process: `sync_devices` asks those of other workers too, and fails."""
        for device in self._devices:
            with tf.device(device):
                tf.raw_ops.SyncDevice()
        for losses in self._losses.values():
            for loss in self._strategy.experimental_local_results(losses):
                loss.numpy()  # on a TPU a step is one program: its result is there when all of it is done

    def losses(self) -> Mapping[str, float]:
        """Sums over the replicas of their shares of the global means."""
        return {
            name: float(self._strategy.reduce("SUM", loss, axis=None)) for name, loss in self._losses.items()
        }

    def without_exchange(self) -> None:
        """The optimizer adds the gradients up within the traced step."""

    def compile_count(self) -> int | None:
        """Return how often a step was traced; counted within the step, because a new function starts at 0."""
        return self._num_traces

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Each replica computes all of it, and all have the same weights."""
        chunk = self._batches.global_batch_size // self._job.replicas
        return compute_quality(self._predict, self._workload.quality, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Return the device of this process's weights and the dtype of the step's first product."""
        return self.facts(self._networks.fused_recurrent())

    def facts(self, fused: bool | None) -> DeviceFacts:
        """Return the facts of the devices of this process."""
        specs = [tf.DeviceSpec.from_string(device) for device in self._devices]
        kind = _KINDS[specs[0].device_type]
        return DeviceFacts(
            kind=kind,
            name=_driver_name(kind),
            count=len(set(self._devices)),
            precision=find_precision_label(
                kind, self._product_dtype, float32_is_rounded=_float32_is_rounded(kind)
            ),
            peak_memory_bytes=_peak_memory_bytes(specs) if kind == "gpu" else None,
            fused_recurrent=fused,
        )

    def matmul_benchmark(self, size: int) -> Callable[[], Any]:
        """Build the product in the compute dtype of the Keras policy, traced as a step is."""
        dtype = keras.mixed_precision.dtype_policy().compute_dtype
        with tf.device(self._devices[0]):
            left, right = (tf.cast(tf.random.uniform((size, size)), dtype) for _ in range(2))
            return partial(tf.function(tf.matmul, autograph=False), left, right)

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return self._networks.state()

    def checkpoint(self) -> Mapping[str, Any]:
        """Return each variable's copy of this process's first replica; all copies are equal."""
        variables = list_variables(self._networks, self._optimizers)
        return {name: np.array(variable.value.numpy()) for name, variable in variables}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Overwrite the copies of all replicas."""
        with self._strategy.scope():
            for name, variable in list_variables(self._networks, self._optimizers):
                variable.assign(arrays[name])

    def close(self) -> None:
        """Meet all workers a last time: one that leaves early aborts the others' coordination service."""
        if self._job.world_size > 1:
            self.losses()

    def find_devices(self, model: Any) -> list[str]:
        """Device of each replica of this process, asked of the copies of a model's first weight."""
        weight = model.trainable_variables[0].value
        return [result.device for result in self._strategy.experimental_local_results(weight)]

    def _batch(self, index: int) -> dict[str, Any]:
        """Batch `index`: each array as one part per replica of this process."""
        batch = self._batches.shard(index, rank=self._job.rank, world_size=self._job.world_size)
        dtypes = {"y": tf.int64}  # int32 stays on the host
        return {name: self.distributed(array, dtypes.get(name)) for name, array in batch.items()}

    def distributed(self, array: Any, dtype: Any) -> Any:
        """Put one part of an array on each device of this process."""

        def part(context: Any) -> Any:
            place = context.replica_id_in_sync_group % len(self._devices)
            share = len(array) // len(self._devices)
            with tf.device(self._devices[place]):
                return tf.constant(array[place * share : (place + 1) * share], dtype)

        return self._strategy.experimental_distribute_values_from_function(part)

    def _scaled(self, optimizer: Any, variables: list[Any]) -> Any:
        """Build an optimizer, with a scale of the loss where the precision needs one."""
        if self._scale_loss:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        optimizer.build(variables)
        return optimizer

    def _train_everywhere(self, batch: Any) -> Any:
        self._num_traces += 1
        return self._strategy.run(self._train_replica, args=(batch,))

    def _train_replica(self, batch: Any) -> dict[str, Any]:
        """One replica's part of a step. Its losses are shares: the sum over replicas is the global mean."""
        losses, gradients = self._differentiate(batch)
        for name, optimizer in self._optimizers.items():
            optimizer.apply_gradients(zip(gradients[name], self._trained[name], strict=True))
        return losses

    def _losses_and_gradients(self, batch: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        losses, gradients = differentiate(
            self._networks,
            self._phase,
            batch,
            optimizers=self._optimizers,
            trained=self._trained,
            global_batch_size=self._batches.global_batch_size,
        )
        self.observe(tf.compat.v1.get_default_graph().get_operations())
        return losses, gradients

    def _infer_everywhere(self, samples: Any) -> Any:
        quality = self._workload.quality
        model = self._networks.models[quality.network]
        return self._strategy.run(partial(evaluated, model, quality), args=(samples,))

    def _predict(self, samples: Batch) -> Outputs:
        arrays = {name: tf.constant(array) for name, array in samples.items()}
        first, *_ = self._strategy.experimental_local_results(self._infer(arrays))
        outputs: Outputs = first.numpy()
        return outputs

    def observe(self, operations: Iterable[Any]) -> None:
        """Keep the dtype of the first product in the graph that is being traced for the step."""
        products = (
            operation.outputs[0].dtype.name for operation in operations if operation.type in _PRODUCTS
        )
        self._product_dtype = next(products, "unknown")


def _float32_is_rounded(kind: DeviceKind) -> bool:
    """TensorFlow has a switch for GPUs; on a TPU it always rounds."""
    return kind == "tpu" or bool(tf.config.experimental.tensor_float_32_execution_enabled())


def _driver_name(kind: DeviceKind) -> str:
    if kind == "cpu":
        return cpu_model()
    if kind == "gpu":
        gpu = tf.config.get_visible_devices("GPU")[0]
        return str(tf.config.experimental.get_device_details(gpu)["device_name"])
    return tpu_name(slice_type() or "unknown")  # TensorFlow itself does not report it


def _peak_memory_bytes(specs: list[Any]) -> int:
    """Return the peak memory of this process's device that needed most."""
    names = {f"{spec.device_type}:{spec.device_index}" for spec in specs}
    return max(int(tf.config.experimental.get_memory_info(name)["peak"]) for name in names)
