"""Verdict on a training step's memory on a device: by its compiler, or by counting its tensors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.interval import Spread

_GIB, _MIB = 2**30, 2**20
COUNTED = "(predicted by counting)"

LEAST_CONTEXT_BYTES, CONTEXT_BYTES = 256 * _MIB, 512 * _MIB
"""CUDA's context, since CUDA 11.7 loads kernels when they are needed (pytorch/pytorch issue 107667)."""

EXCHANGE_BYTES = 544 * _MIB
"""Buffers of NCCL: 544 MiB of two A100, 688 MiB of four (NVIDIA/nccl issue 964)."""

_KEPT, _KEPT_EITHER_WAY = 1.22, 1.25
"""What PyTorch's allocator keeps over tensors, with its 90% interval: findings/prediction_accuracy.md."""

_MARGIN = 1.15
"""Workspaces of cuDNN, fragmentation of the allocator. On an H100 the allocator's peak was 1.15 times the
count in fp32 of ResNet-50, where cuDNN searches in free memory, and 1.01 times in 16 bit:
docs/findings/h100.md."""

_LEAST_SHARE = 0.94
"""Share of the count that a step takes at least. There the peak was 0.954 times the count for BERT: its
operations on the CPU, which are counted, keep more."""

DRIVER_SHARE = 0.94
"""Share of the capacity that the driver leaves: 15,360 of 16,384 MiB on a T4 with ECC."""


MemoryVerdict = Literal["fits", "tight", "does not fit", "unknown"]
"""Verdict on a step; `tight`: its tensors may fit, and whether all that is added to them does is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """Memory that the step's compiled program takes on the replica that needs most.

    Attributes:
        needed_bytes, granted_bytes: taken by the program, and given to programs by the compiler.
        compiler: its name and version, for the provenance `compiled`.
        batch_that_fits: a smaller global batch that fits, if this one does not and one was found.
    """

    needed_bytes: int
    granted_bytes: int
    compiler: str
    batch_that_fits: int | None = None

    @property
    def fits(self) -> bool:
        """Return whether the program gets the memory that it takes."""
        return self.needed_bytes <= self.granted_bytes

    @property
    def is_sure_to_fit(self) -> bool:
        """Return the same: a compiler knows."""
        return self.fits

    @property
    def verdict(self) -> MemoryVerdict:
        """Return the same as a word."""
        return "fits" if self.fits else "does not fit"

    def words(self, device: str) -> str:
        """Describe in one line how much memory the step takes on a device."""
        needed, granted = _size(self.needed_bytes), _size(self.granted_bytes)
        source = f"(compiled, {self.compiler})"
        if self.fits:
            return f"a step takes {needed} of the {granted} that {device} grants a replica {source}"
        smaller = f"; global_batch_size={self.batch_that_fits} fits" if self.batch_that_fits else ""
        return f"a step needs {needed}, {device} grants a replica {granted}{smaller} {source}"


def _size(num_bytes: float) -> str:
    return f"{num_bytes / _GIB:.2f} GiB" if num_bytes >= _GIB else f"{num_bytes / _MIB:.1f} MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorCount:
    """Memory that the tensors of a step take on a GPU, counted without one.

    Attributes:
        tensor_bytes: most bytes of tensors that live at once in a replica, staged batches left out.
        bucket_bytes: copies of the gradients that the exchange between replicas keeps; 0 for one replica.
        staged_bytes: most bytes of batches that are put on the GPU before the first step.
        capacity_bytes: memory of the GPU.
        exchange_bytes: buffers of the exchange between replicas outside of PyTorch's allocator.
        batch_that_fits: a smaller global batch that is sure to fit, if this one does not and one was found.
        micro_batch_that_fits: the same of a micro batch, with the whole batch.
        settings_that_fit: words of other settings that are sure to fit, where no micro batch is; empty: none
            were found.
    """

    tensor_bytes: int
    bucket_bytes: int
    staged_bytes: int
    capacity_bytes: int
    exchange_bytes: int = 0
    batch_that_fits: int | None = None
    micro_batch_that_fits: int | None = None
    settings_that_fit: str = ""

    @property
    def needed_bytes(self) -> int:
        """Bytes of all tensors."""
        return self.tensor_bytes + self.bucket_bytes

    @property
    def used_bytes(self) -> Spread:
        """Bytes that the GPU shows as used, if it has them: with all that CUDA and the allocator add."""
        added = CONTEXT_BYTES + self.exchange_bytes
        likely = _KEPT * self.needed_bytes
        return Spread(
            median=likely + added,
            low=max(self.needed_bytes, likely / _KEPT_EITHER_WAY) + added,
            high=likely * _KEPT_EITHER_WAY + added,
        )

    @property
    def fits(self) -> bool:
        """Return whether the tensors may fit beside CUDA's context; False is sure."""
        least = _LEAST_SHARE * self.needed_bytes + LEAST_CONTEXT_BYTES + self.exchange_bytes
        return least <= self.capacity_bytes

    @property
    def is_tight(self) -> bool:
        """Return whether it is open that everything fits: tensors, their margin, batches, CUDA's context."""
        added = self.staged_bytes + CONTEXT_BYTES + self.exchange_bytes
        return self.fits and _MARGIN * self.needed_bytes + added > DRIVER_SHARE * self.capacity_bytes

    @property
    def is_sure_to_fit(self) -> bool:
        """Return whether all of it fits: what is proposed instead of a batch that does not."""
        return self.fits and not self.is_tight

    @property
    def verdict(self) -> MemoryVerdict:
        """Return the same as a word."""
        return "does not fit" if not self.fits else "tight" if self.is_tight else "fits"

    def words(self, device: str) -> str:
        """Describe in one line how much memory the step takes on a device."""
        needed, granted, used = _size(self.needed_bytes), _size(self.capacity_bytes), self.used_bytes
        if not self.fits:
            return f"the tensors of a step need {needed}, {device} has {granted}{self._smaller} {COUNTED}"
        shown = f"{_size(used.median)} [{_size(used.low)}, {_size(used.high)}]"
        return (
            f"{self.verdict}: the tensors of a step take {needed} of the {granted} of {device} {COUNTED}; "
            f"with CUDA and what PyTorch's allocator keeps it shows {shown} (predicted from published steps)"
        )

    @property
    def _smaller(self) -> str:
        batches = {
            "global_batch_size": self.batch_that_fits,
            "micro_batch_size": self.micro_batch_that_fits,
        }
        words = [*(f"{key}={size}" for key, size in batches.items() if size), self.settings_that_fit]
        found = " or ".join(filter(None, words))
        return f"; {found} fits" if found else ""


Verdict = MemoryFit | TensorCount
"""Knowledge about a step's memory."""

MemoryDoubt = Literal["", "not counted", "tight"]
"""Why a step may not fit: `plan` can count its tensors, and has not; or they are near the limit, or cannot be
counted; empty: nothing is known against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFit:
    """Reason why nothing is known about a step's memory."""

    reason: str

    @property
    def verdict(self) -> MemoryVerdict:
        """Return that it is not known."""
        return "unknown"


NOT_COUNTED = NoFit(reason="not counted yet")
"""Answer for a step that was not asked about, although it may be."""


def choose_fit(fits: Iterable[Verdict | NoFit]) -> Verdict | NoFit | None:
    """Choose among the answers for several trainers: a verdict, else that one may be had; None: neither."""
    known = [fit for fit in fits if isinstance(fit, Verdict) or fit == NOT_COUNTED]
    return min(known, key=lambda fit: fit == NOT_COUNTED, default=None)
