"""Data-parallel training of a user's own Keras job."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from orchestrator.core.result import DeviceFacts
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.tensorflow_trainer import TensorFlowTrainer
from workloads.native.evaluation import evaluate_job
from workloads.native.keras_data import KerasBatches
from workloads.native.keras_step import compute_loss, keep_losses_whole
from workloads.spec import NativeSpec, Phase


class NativeTensorFlowTrainer(TensorFlowTrainer):
    """The job's own model, loss and optimizer under the strategies of `TensorFlowTrainer`."""

    def setup(  # type: ignore[override]  # a job has batches of its own
        self,
        workload: NativeSpec,  # noqa: ARG002  # the job tells all
        job: WorkerJob,
        batches: KerasBatches,
    ) -> None:
        """Make the strategy, and build the job from the seed of the trial in its scope."""
        self.open(job)
        keep_losses_whole()
        self._own_batches = batches
        with self._strategy.scope():
            self._own_job = batches.load()
        self._model = self._own_job.model
        self._devices = self.find_devices(self._model)

    def begin(self, phase: Phase) -> None:  # noqa: ARG002  # a job has one part
        """Trace a step with the job's optimizer."""
        self.train_with({"model": self._own_job.optimizer}, {"model": self._model.trainable_variables})

    def step(self, index: int) -> None:  # noqa: ARG002  # the batches know the order
        """Forward, backward, update with the gradients' sum over all replicas: one traced function."""
        batch = tf.nest.map_structure(lambda array: self.distributed(array, None), self._own_batches.take())
        self._losses = self._train(batch)
        self.samples += self._own_batches.global_batch_size // self._job.world_size

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # the job decides
        """Each process computes all of it."""
        return evaluate_job(self._own_job)

    def device_facts(self) -> DeviceFacts:
        """Return the device of this process's weights and the dtype of the step's first product."""
        return self.facts(None)

    def state(self) -> Mapping[str, Any]:
        """Trained weights by their place and name in the model."""
        return {
            f"model.{index}.{weight.name}": np.array(weight.value.numpy())
            for index, weight in enumerate(self._model.trainable_variables)
        }

    def checkpoint(self) -> Mapping[str, Any]:
        """Return each variable's copy of this process's first replica; all copies are equal."""
        return {name: np.array(variable.value.numpy()) for name, variable in self._variables()}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Overwrite the copies of all replicas."""
        with self._strategy.scope():
            for name, variable in self._variables():
                variable.assign(arrays[name])

    def _variables(self) -> Iterator[tuple[str, Any]]:
        """All variables of the model, the states of its draws included, and of its optimizer."""
        yield from ((f"model.{index}", variable) for index, variable in enumerate(self._model.variables))
        optimizer = self._optimizers["model"]
        yield from ((f"slot.{index}", variable) for index, variable in enumerate(optimizer.variables))

    def _losses_and_gradients(self, batch: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a replica's loss, as a share of the mean over the replicas, and its gradients."""
        with tf.GradientTape() as tape:
            loss = compute_loss(self._own_job, batch) / self._job.replicas
            scaled = self._optimizers["model"].scale_loss(loss)
        gradients = tape.gradient(scaled, self._trained["model"])
        self.observe(tf.compat.v1.get_default_graph().get_operations())
        return {"model": loss}, {"model": gradients}
