"""Copies of batches from host memory to a device, and the time that steps wait for them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]


class BatchCopies:
    """Batches on a device, the next one copied while the current one is used if there is a copier.

    Args:
        read: index -> that batch in host memory.
        copy: copies a batch and returns when it is on the device; for a batch that was not copied ahead.
        copier: None copies nothing ahead.
        add_wait: receives the seconds for which a step waited for a copy.
        last: index of the last batch.
    """

    def __init__(
        self,
        *,
        read: Callable[[int], Tensors],
        copy: Callable[[Tensors], Tensors],
        copier: "CudaCopier | None",
        add_wait: Callable[[float], None],
        last: int,
    ) -> None:
        self._read = read
        self._copy = copy
        self._copier = copier
        self._add_wait = add_wait
        self._last = last
        self._ahead: tuple[int, _CudaCopy] | None = None

    def take(self, index: int) -> Tensors:
        """Return a batch on the device."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == index:
            return self._timed(ahead[1].finished)
        batch = self._read(index)
        return self._timed(lambda: self._copy(batch))

    def prepare(self, index: int) -> None:
        """Start to copy a batch for the next step, if there is such a step and a copier."""
        if self._copier is not None and index <= self._last:
            self._ahead = index, self._copier.start(self._read(index))

    def _timed(self, copy: Callable[[], Tensors]) -> Tensors:
        began = time.perf_counter()
        batch = copy()
        self._add_wait(time.perf_counter() - began)
        return batch


class CudaCopier:
    """Copier through page-locked memory on a stream of its own. Written from documentation and never run."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch types neither

    def start(self, batch: Tensors) -> "_CudaCopy":
        """Start to copy a batch."""
        with torch.cuda.stream(self._stream):
            pinned = {name: tensor.pin_memory() for name, tensor in batch.items()}
            copied = {name: tensor.to(self._device, non_blocking=True) for name, tensor in pinned.items()}
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(self._stream)
        return _CudaCopy(pinned=pinned, copied=copied, event=event)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CudaCopy:
    """Copy on a stream; it keeps its source until it ends."""

    pinned: Tensors
    copied: Tensors
    event: torch.cuda.Event

    def finished(self) -> Tensors:
        """Wait for the copy, and give the batch to the stream of the steps."""
        self.event.synchronize()
        stream = torch.cuda.current_stream()
        for tensor in self.copied.values():
            tensor.record_stream(stream)
        return self.copied
