"""Data that a workload needs, declared without reading any."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class DataNeed:
    """A data set and the form in which a workload takes it.

    Attributes:
        data_set: `module:attribute` of a `DataSet`, so that a user's workload brings its own.
        image_size: square side in pixels to which images are resized; None leaves them as they are.
        vocabulary: number of token ids of texts; larger ids become "unknown".
        sequence_length: length of texts, in tokens.
        targets: `y` of texts: the `labels` of whole texts, or token ids of windows of the running text:
            the `next_token` of every step, or the `masked_token` of some.
        train_tokens: tokens of the full training set of a language model; a user's folder has its own.
        binary: True for two classes of graded photographs (referable: grade 2 and above) instead of five.
    """

    data_set: str
    image_size: int | None = None
    vocabulary: int | None = None
    sequence_length: int | None = None
    targets: Literal["labels", "next_token", "masked_token"] = "labels"
    train_tokens: int | None = None
    binary: bool = False

    def __post_init__(self) -> None:
        sizes = {
            "image_size": self.image_size,
            "vocabulary": self.vocabulary,
            "sequence_length": self.sequence_length,
        }
        for name, size in sizes.items():
            if size is not None and size < 1:
                raise ValueError(f"{name}={size} of data set {self.data_set!r} must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Random numbers that a step needs for each sample: drawn once per training sample from the trial's seed.

    Attributes:
        name: key in a batch.
        shape: per sample.
        kind: `normal` with mean 0 and deviation 1, or `uniform` in [0, 1).
    """

    name: str
    shape: tuple[int, ...]
    kind: Literal["normal", "uniform"]
