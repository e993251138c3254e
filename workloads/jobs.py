"""Training jobs in a user's own PyTorch or Keras code: results of `build(options)`. Imports no framework."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.network import Network

Evaluate = Callable[[Any], Mapping[str, float]]
"""Measures a trained model on held-out data: model -> metric -> value."""


class JobError(ValueError):
    """A job that cannot be trained, with the reason in one line."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """Fields that the jobs of both frameworks have.

    Attributes:
        evaluate: measures the trained model; None: nothing is measured.
        metric: the metric of `evaluate` that counts.
        higher_is_better: whether a larger value of the metric is a better one.
        target: value of the metric that a finished training is expected to reach.
        epochs: passes over the training data of a full training; None: unknown.
    """

    evaluate: Evaluate | None = None
    metric: str = "accuracy"
    higher_is_better: bool = True
    target: float | None = None
    epochs: float | None = None

    def __post_init__(self) -> None:
        if self.epochs is not None and not 0 < self.epochs < math.inf:
            raise JobError(f"epochs={self.epochs} is not a number of passes; give a number above 0, or None")
        if self.target is not None and not math.isfinite(self.target):
            raise JobError(
                f"target={self.target} is not a value that a metric can reach; give a number, or None"
            )


@dataclass(frozen=True, kw_only=True)
class TorchJob(_Job):
    """A training in plain PyTorch.

    Attributes:
        model: any `nn.Module`, on the CPU.
        loss: function (model, batch) -> scalar mean over the samples of the batch; or an `nn.Module` of
            (output, target) for batches (input, …, target).
        optimizer: any `torch.optim.Optimizer` over the model's parameters, or several in a list or tuple;
            each takes one step after the gradients of the loss are there.
        data: a map-style dataset or an `IterableDataset` of single samples. An iterable one gives the same
            samples in the same order at every pass, and shuffles by itself.
        scheduler: learning-rate scheduler of an optimizer, or several in a list or tuple; each takes one step
            after every optimizer step.
        collate: function from a list of samples to a batch; None: PyTorch's own. Tensors of a batch are
            found in tuples, lists, mappings and dataclasses; another object is moved by its method `to`.
        loader_workers: processes of a rank that read samples ahead; 0: the training process reads.
        accumulation_steps: parts of a rank's batch that go through the model one after the other.
        clip_norm: largest norm of all gradients together; larger ones are scaled down to it.
        load_model: the model is on the meta device, which takes no memory, and this makes it with its
            weights when a training starts: the same every time, so that checkpoints leave out weights that
            are not trained. None: the model has its weights.
        iterate_weights: likewise, but yields (name, tensor) for all parameters and buffers, so that replicas
            with `sharding=full` never hold all of them.
        blocks: classes of the repeated modules of the model; none: those that a Hugging Face model names in
            `_no_split_modules`, else the class that is repeated most.
        files: files that the job was built from; where their content changes it is another trial.
        tokens_per_sample: mean tokens of a sample of text, padding left out; None: samples are no texts.
        unchecked: what a reader of the results has to know of this job, a sentence each.
        network: declared network of the same shape: its values are counted as moved, as by kernels that
            fuse operations; None: those of every single operation are.
    """

    model: Any
    loss: Any
    optimizer: Any
    data: Any
    scheduler: Any = None
    collate: Callable[[list[Any]], Any] | None = None
    loader_workers: int = 0
    accumulation_steps: int = 1
    clip_norm: float | None = None
    load_model: Callable[[], Any] | None = None
    iterate_weights: Callable[[], Iterable[tuple[str, Any]]] | None = None
    blocks: tuple[type[Any], ...] = ()
    files: tuple[Path, ...] = ()
    tokens_per_sample: float | None = None
    unchecked: tuple[str, ...] = ()
    network: Network | None = None

    @property
    def has_weights(self) -> bool:
        """Whether the model is built with its weights; otherwise they are made when a training starts."""
        return self.load_model is None and self.iterate_weights is None

    @property
    def optimizers(self) -> tuple[Any, ...]:
        """All optimizers, in their order."""
        return tuple(self.optimizer) if isinstance(self.optimizer, (list, tuple)) else (self.optimizer,)

    @property
    def schedulers(self) -> tuple[Any, ...]:
        """All schedulers, in their order; empty: none."""
        if isinstance(self.scheduler, (list, tuple)):
            return tuple(self.scheduler)
        return () if self.scheduler is None else (self.scheduler,)


@dataclass(frozen=True, kw_only=True)
class KerasJob(_Job):
    """A training in plain Keras on TensorFlow.

    Attributes:
        model: any `keras.Model`.
        loss: a `keras.losses.Loss` of batches (inputs, targets); or a function (model, batch) -> scalar mean
            over the samples of the batch.
        optimizer: any `keras.optimizers.Optimizer`, with its schedule and its clipping.
        data: arrays of all samples, as a tuple (inputs, targets) or a mapping; or a `tf.data.Dataset` of
            single samples, which shuffles by itself.
    """

    model: Any
    loss: Any
    optimizer: Any
    data: Any
