"""Samples of a PyTorch job's data: first ones for batches to count a step with, and what identifies it."""

import hashlib
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset, default_collate

from workloads.jobs import JobError, TorchJob
from workloads.native.data_hash import digest_of_array, positions_in
from workloads.native.torch_checks import count_samples, is_iterable
from workloads.native.torch_step import is_movable, moved

Make = Callable[[tuple[int, ...], torch.dtype], Tensor]
"""(shape, dtype) -> a tensor."""

_FIRST = 4
_MOST_DRAWN, _DRAWING_SECONDS = 256, 2.0
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_FINGERPRINT_SEED = 0


def first_batch(job: TorchJob, size: int) -> Any:
    """Collate a batch of the first sample, repeated: one that is padded has the length of that sample."""
    return _collated(job, _first_samples(job)[:1] * size)


def unequal_samples(job: TorchJob) -> list[Any]:
    """Draw samples of the data set, the smallest first; empty where all of them have one size.

    A stream gives its first ones. Drawing ends early where samples take long to read.
    """
    ends_at = time.monotonic() + _DRAWING_SECONDS
    sizes: list[tuple[int, Any]] = []
    for sample in islice(_shuffled(job), _MOST_DRAWN):
        sizes.append((num_values(_collated(job, [sample])), sample))
        if time.monotonic() > ends_at:
            break
    sizes.sort(key=itemgetter(0))
    return [] if sizes[0][0] == sizes[-1][0] else [sample for _, sample in sizes]


def drawn_batches(job: TorchJob, samples: Sequence[Any], size: int, count: int) -> Iterator[Any]:
    """Collate batches of samples that are drawn at random, the same ones every time."""
    random_numbers = np.random.default_rng(_FINGERPRINT_SEED)
    for _ in range(count):
        indices = random_numbers.choice(len(samples), size, replace=size >= len(samples))
        yield _collated(job, [samples[index] for index in indices])


def num_values(batch: Any) -> int:
    """Count the values of a batch, with its padding."""
    return sum(tensor.numel() for tensor in _list_tensors(batch))


def _shuffled(job: TorchJob) -> Iterator[Any]:
    if is_iterable(job.data):
        yield from job.data
    else:
        order = np.random.default_rng(_FINGERPRINT_SEED).permutation(len(job.data))
        yield from (job.data[index] for index in order.tolist())


def _collated(job: TorchJob, samples: list[Any]) -> Any:
    return (job.collate or default_collate)(samples)


def batch_resizer(job: TorchJob) -> Callable[[int, Make], Any]:
    """Return a function that makes a batch in the shape of any size, without reading that many samples.

    Of samples of unequal length it has the longest that are drawn. An axis that differs between a batch
    of two samples and one of three is the axis of the samples.

    Raises:
        ValueError: the number of tensors depends on the size.
    """
    sample = (unequal_samples(job) or _first_samples(job)[:1])[-1]
    two, three = _collated(job, [sample] * 2), _collated(job, [sample] * 3)
    if has_movable(two):
        raise ValueError("a batch has an object whose tensors have no shape for another size")
    if len(_list_tensors(two)) != len(_list_tensors(three)):
        raise ValueError("a batch is a list of samples, which has no shape for another size")

    def resized(size: int, make: Make) -> Any:
        others = iter(_list_tensors(three))

        def of_size(tensor: Tensor) -> Tensor:
            lengths = zip(tensor.shape, next(others).shape, strict=True)
            return make(tuple(size if two != three else two for two, three in lengths), tensor.dtype)

        return moved(two, of_size)

    return resized


def make_empty(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return a tensor of any values."""
    return torch.empty(shape, dtype=dtype)


def has_movable(batch: Any) -> bool:
    """Return whether a batch has an object that moves its tensors itself."""
    return any(map(is_movable, _list_objects(batch)))


def require_movable(batch: Any) -> None:
    """Raise JobError for a batch with an object that cannot move its tensors to a device."""
    for part in _list_objects(batch):
        held = getattr(part, "__dict__", {})
        if not is_movable(part) and any(isinstance(leaf, Tensor) for leaf in _list_leaves(held)):
            raise JobError(
                f"collate gives a {type(part).__name__} with tensors and without a method `to`; expected "
                "tensors in tuples, lists, mappings or dataclasses, or an object with `to(device)`"
            )


def hash_fingerprint(job: TorchJob) -> str:
    """Hash the number of samples, and all tensors or samples of the whole set; of random ones the number."""
    values = [_hash_content(job) for _ in range(2)]
    samples = values[0] if values[0] == values[1] else "random"
    return hashlib.sha256(f"{count_samples(job.data)} {samples}".encode()).hexdigest()[:16]


def _first_samples(job: TorchJob) -> list[Any]:
    if is_iterable(job.data):
        samples = list(islice(iter(job.data), _FIRST))
    else:
        samples = [job.data[index] for index in range(min(_FIRST, len(job.data)))]
    if not samples:
        raise JobError("the data set is empty")
    return samples


def _spread_samples(job: TorchJob) -> list[Any]:
    if is_iterable(job.data):
        return _first_samples(job)
    return [job.data[index] for index in positions_in(len(job.data))]


def _hash_content(job: TorchJob) -> str:
    if isinstance(job.data, TensorDataset):
        return " ".join(digest_of_array(_copy_array(tensor)) for tensor in job.data.tensors)
    random.seed(_FINGERPRINT_SEED)
    np.random.seed(_FINGERPRINT_SEED)
    torch.manual_seed(_FINGERPRINT_SEED)
    digest = hashlib.sha256()
    for leaf in _list_leaves(_spread_samples(job)):
        content = _copy_array(leaf) if isinstance(leaf, Tensor) else leaf
        digest.update(content.tobytes() if isinstance(content, np.ndarray) else _read_text(content).encode())
    return digest.hexdigest()


def _copy_array(tensor: Tensor) -> Any:
    """Return the bits of a tensor as an array, which has no bfloat16."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy(force=True)


def _read_text(value: Any) -> str:
    """Return the repr of a value without the addresses of objects, which differ from start to start."""
    return _ADDRESS.sub("", repr(value))


def _list_tensors(batch: Any) -> list[Tensor]:
    return [leaf for leaf in _list_leaves(batch) if isinstance(leaf, Tensor)]


def _list_objects(batch: Any) -> list[Any]:
    return [leaf for leaf in _list_leaves(batch) if not isinstance(leaf, Tensor)]


def _list_leaves(value: Any) -> Iterator[Any]:
    if is_dataclass(value):
        for field in fields(value):
            yield from _list_leaves(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _list_leaves(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _list_leaves(part)
    else:
        yield value
