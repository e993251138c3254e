"""Bytes of the tensors that live at once while operations run."""

import weakref
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

_ALIGNMENT_BYTES = 512  # of an allocation on a GPU: PyTorch, c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize
_WHOLE = "step"  # name of the part that has no other


class LiveStorages(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own class
    """The bytes of all storages that an operation has touched and that are alive, and the most there were.

    Attributes:
        shards: replicas over which storages are sharded that are noted from now on.
        peaks: most bytes at once, of each part of a step.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.shards = 1
        self.peaks = {_WHOLE: 0}
        self._part = _WHOLE
        self._bytes = 0
        self._held_bytes = 0
        self._sizes: dict[int, int] = {}

    def restart(self) -> None:
        """Forget the most that there were."""
        self.peaks.clear()
        self.begin(_WHOLE)

    def begin(self, part: str) -> None:
        """Begin a part of the step, or go on with it."""
        self._part = part
        self._grow(0)

    def hold(self, num_bytes: int) -> None:
        """Add bytes of which no operation is seen, in the place of those that were added before."""
        self._grow(num_bytes - self._held_bytes)
        self._held_bytes = num_bytes

    def shard(self, tensor: Tensor, count: int) -> None:
        """Count this replica's part of a tensor's storage alone."""
        storage = tensor.untyped_storage()
        self._note(tensor)
        size = _align(-(-storage.nbytes() // count))
        self._grow(size - self._sizes[storage._cdata])
        self._sizes[storage._cdata] = size

    def __torch_dispatch__(self, operation: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note the storages of its inputs and outputs."""
        named = kwargs or {}
        output = operation(*args, **named)
        if operation.namespace == "prim":  # a question about a tensor
            return output
        for value in tree_flatten((args, named, output))[0]:
            if isinstance(value, Tensor):
                self._note(value)
        return output

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._sizes:
            self._sizes[key] = _align(-(-storage.nbytes() // self.shards))
            self._grow(self._sizes[key])
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._bytes -= self._sizes.pop(key)

    def _grow(self, num_bytes: int) -> None:
        self._bytes += num_bytes
        self.peaks[self._part] = max(self.peaks.get(self._part, 0), self._bytes)


def _align(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
