"""Definition of a workload: networks, training, data and target, declared once for every framework."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal
from typing import Protocol as TypeProtocol

from workloads.data.need import DataNeed, Noise
from workloads.network import Network

if TYPE_CHECKING:
    from workloads.data.sources import DataRef

OWN_SOURCE = "own"
"""Source of the data that a native job or a script brings with it."""

_NO_NETWORKS: Mapping[str, Network] = MappingProxyType({})
_NO_COSTS: "Mapping[Framework, JobCost]" = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sgd:
    """Stochastic gradient descent with heavy-ball momentum: v <- momentum v + g; w <- w - learning_rate v."""

    learning_rate: float
    momentum: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """Kingma and Ba 2015, "Adam: a method for stochastic optimization", with their epsilon of 1e-8."""

    learning_rate: float
    beta_1: float = 0.9
    beta_2: float = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupCosine:
    """Learning rate that rises linearly, then falls along half a cosine (Loshchilov and Hutter 2017).

    Attributes:
        warmup_steps: steps of the rise, the last one at the whole rate.
        decay_steps: step at which the fall ends; 0: the rate stays.
        final_share: share of the whole rate from there on.
    """

    warmup_steps: int
    decay_steps: int = 0
    final_share: float = 0.1

    def __post_init__(self) -> None:
        if self.warmup_steps < 0 or (self.decay_steps and self.decay_steps <= self.warmup_steps):
            raise ValueError(
                f"warmup_steps={self.warmup_steps}, decay_steps={self.decay_steps}: a rate falls behind its "
                "rise, or never (decay_steps=0)"
            )

    def share_at(self, step: int) -> float:
        """Return the share of the whole rate in a step; the first step is 0."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if not self.decay_steps:
            return 1.0
        progress = min(1.0, (step - self.warmup_steps) / (self.decay_steps - self.warmup_steps))
        return self.final_share + (1 - self.final_share) * 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamW:
    """Adam with decoupled decay of the weights that have two axes or more (Loshchilov and Hutter 2019).

    Biases, gammas, betas and other vectors do not decay.

    Attributes:
        schedule: None: the learning rate is constant.
    """

    learning_rate: float
    beta_1: float = 0.9
    beta_2: float = 0.999
    weight_decay: float = 0.01
    schedule: WarmupCosine | None = None


Optimizer = Sgd | Adam | AdamW


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """Softmax cross-entropy between the network's logits of `x` and the classes `y`."""

    network: str = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrediction:
    """Softmax cross-entropy between the logits of every step of `x` and the token ids `y`, [batch, step].

    The loss of a sample is the mean over its steps with a `y` that is not negative.
    """

    network: str = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gan:
    """Goodfellow et al. 2014, "Generative Adversarial Nets", with the non-saturating loss of its section 3.

    Networks `generator`: noise `latent` -> images in [-1, 1]; `discriminator`: images -> one logit. Both are
    updated in one step, by gradients at the same weights.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveDivergence:
    """CD-k for one `Rbm` layer.

    Hinton 2002, "Training Products of Experts by Minimizing Contrastive Divergence".

    Attributes:
        node: index of the layer; what the layers below it make of `x` is its data.
        k: steps of the Gibbs chain. The noise `uniform_<node>` decides the states, [batch, k, hidden].
    """

    node: int
    k: int = 1
    network: str = "model"


Protocol = Supervised | TokenPrediction | Gan | ContrastiveDivergence


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of a training in which one thing is learned.

    Attributes:
        optimizers: optimizers of each network that is trained.
        share: share of all steps, rounded down; the last phase takes the rest and is the timed one.
    """

    name: str
    protocol: Protocol
    optimizers: Mapping[str, Optimizer]
    share: float = 1.0


def phase_steps(phases: Sequence[Phase], steps: int) -> tuple[int, ...]:
    """Steps of each phase: its share rounded down, at least 1; the last phase takes what is left."""
    early = tuple(max(1, math.floor(phase.share * steps)) for phase in phases[:-1])
    return (*early, steps - sum(early))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality measure of a trained network.

    Attributes:
        measure: `module:function` in framework-free Python, (outputs, held-out batch) -> metric -> value.
        metric: the one that counts, by the name that `measure` gives it.
        target: value that a finished training is expected to reach.
        network, reads: the network that is evaluated, and the array of a held-out batch that it is given.
        of_tokens: True if outputs are not the logits, which would be too large to keep, but the cross-entropy
            of every `y` and whether it has the largest logit: [sample, step, 2].
    """

    measure: str
    metric: str
    target: float
    higher_is_better: bool = True
    network: str = "model"
    reads: str = "x"
    of_tokens: bool = False

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays of a held-out batch that make the outputs."""
        return (self.reads, "y") if self.of_tokens else (self.reads,)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One training task, complete: any framework built from it computes the same.

    Attributes:
        version: raised when the code changes what is computed; part of every trial_id.
        noise: random arrays that the protocols need, one value of each for every sample.
        epochs: passes over the full training set that a full training takes, all phases together; None:
            unknown. It changes nothing that is computed: `steps` is the length of a trial.
        train_samples: samples of the full training set, where `data` stands for another one.
    """

    name: str
    version: int
    networks: Mapping[str, Network]
    phases: tuple[Phase, ...]
    data: DataNeed
    quality: Quality
    noise: tuple[Noise, ...] = ()
    epochs: float | None = None
    train_samples: int | None = None

    unchecked = ()
    costs = _NO_COSTS
    accumulation_steps = 1
    most_steps = None
    has_objects = False
    advice_on_blocks = ""
    command = ""
    folder = ""
    data_description = ""

    @property
    def tokens_per_sample(self) -> float | None:
        """Tokens of a sample of a language model; None for other workloads."""
        is_language = isinstance(self.phases[-1].protocol, TokenPrediction)
        return self.data.sequence_length if is_language else None

    def find_data_key(self, source: str) -> tuple[str, str]:
        """Return the data set with the source that was asked for."""
        return self.data.data_set, source

    def count_train_samples(self, ref: "DataRef") -> int | None:
        """Count by the tokens or labels that the network takes."""
        return self.train_samples or ref.count_samples_of_set(self.data)

    def count_all_samples(self, _global_batch_size: int) -> None:
        """Return None: its epochs decide."""

    def describe_for(self, _framework: str | None) -> None:
        """Return None: a worker declares the workload again."""


Framework = Literal["torch", "keras"]
"""A framework of native jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuality:
    """Quality measure of a native job.

    Attributes:
        target: value that a finished training is expected to reach; None: unknown.
    """

    metric: str
    target: float | None
    higher_is_better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLengths:
    """Lengths of drawn batches of one size, with samples of unequal lengths.

    Attributes:
        samples: samples of a batch.
        drawn: number of these batches.
        mean: values of a sample with its padding, as a share of those that the job's cost has for a sample.
        deviation: standard deviation of the batches, as a share of their mean.
    """

    samples: int
    drawn: int
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCost:
    """Cost of one forward pass of all repeated blocks of a network.

    Attributes:
        product_flops_per_sample: of the operations, those of products with weights.
        value_bytes_per_sample: read and written for a sample in float32, if nothing is fused.
        weight_bytes: read by a pass of any size.
        layers: modules, or nodes, of all blocks.
    """

    flops_per_sample: float
    product_flops_per_sample: float
    value_bytes_per_sample: float
    weight_bytes: float
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost:
    """Cost of a native job's training step, counted from its operations.

    Attributes:
        flops_per_sample, flops_per_step: a step of n samples has n times the one, and the other.
        winograd_flops_per_sample: of these, the part that Winograd's algorithm shortens: convolutions of all
            channels by 3x3 kernels at every position.
        value_bytes_per_sample: read and written for a sample in float32, if nothing is fused.
        weight_bytes: read and written by a step of any size: weights, gradients, the optimizer's state.
        gradient_bytes: size of all gradients.
        num_weights: trained parameters.
        layers: modules that have weights of their own.
        time_steps: steps of sequences that recurrent layers compute one after the other, of all layers.
        recurrent_bytes: recurrent kernels in float32, read forward and backward once a time step, where
            `weight_bytes` has them once a step.
        has_unused_weights: True if a step leaves some of the trained parameters without a gradient.
        held_bytes: all parameters, those that are not trained too, and buffers; 0: not counted.
        trained_bytes: trained parameters alone; 0: not counted.
        slot_bytes: the optimizer's state.
        lengths: drawn batches of several sizes, the smallest first; empty where samples have one length.
        blocks: repeated blocks that can be computed again; None: there are none, or batch normalisation in
            them would move its statistics twice.
        has_packed_weights: some weights are kept in less than a byte each.
    """

    flops_per_sample: float
    flops_per_step: float
    winograd_flops_per_sample: float
    value_bytes_per_sample: float
    weight_bytes: float
    gradient_bytes: float
    num_weights: int
    layers: int
    time_steps: int
    recurrent_bytes: float
    has_unused_weights: bool
    held_bytes: float = 0.0
    trained_bytes: float = 0.0
    slot_bytes: float = 0.0
    lengths: tuple[BatchLengths, ...] = ()
    blocks: BlockCost | None = None
    has_packed_weights: bool = False

    def lengths_at(self, batch_size: int) -> BatchLengths:
        """Return how long batches of a size are, between the drawn sizes on a logarithmic scale.

        The deviation of larger batches than were drawn falls as that of sums of independent samples.
        """
        drawn = self.lengths or (BatchLengths(samples=batch_size, drawn=1, mean=1.0, deviation=0.0),)
        below = next((one for one in reversed(drawn) if one.samples <= batch_size), drawn[0])
        above = next((one for one in drawn if one.samples >= batch_size), drawn[-1])
        if above is below:
            shrunk = math.sqrt(min(1.0, below.samples / batch_size))
            return replace(below, samples=batch_size, deviation=below.deviation * shrunk)
        share = math.log(batch_size / below.samples) / math.log(above.samples / below.samples)
        return BatchLengths(
            samples=batch_size,
            drawn=below.drawn,
            mean=below.mean + share * (above.mean - below.mean),
            deviation=below.deviation + share * (above.deviation - below.deviation),
        )

    def padded_samples(self, global_batch_size: int) -> float:
        """Return the samples of a batch, each as long as those of the counted ones."""
        return global_batch_size * self.lengths_at(global_batch_size).mean

    def step_flops(self, global_batch_size: int) -> float:
        """Operations of a step."""
        return self.flops_per_step + self.padded_samples(global_batch_size) * self.flops_per_sample

    def step_bytes(self, global_batch_size: int, *, value_bytes: int) -> float:
        """Bytes read and written by a step, as `traffic.train_step_bytes` counts."""
        samples = self.padded_samples(global_batch_size)
        values = samples * self.value_bytes_per_sample * value_bytes / _FLOAT32_BYTES
        return values + self.weight_bytes


_FLOAT32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeSpec:
    """A training task in a user's own PyTorch or Keras code, described by that code.

    Attributes:
        version: number of the code's content; part of every trial_id.
        costs: of the job in every framework that has one and is installed.
        data: id of the training data, `own:<workload>:<hash of the first samples>`.
        train_samples: size of the training set; None if it has no length.
        accumulation_steps: parts of a replica's batch that go through the model one after the other.
        unchecked: identities that hold for declared workloads and are not known to hold here.
        most_steps: steps that the schedulers of the PyTorch job allow; None: no end is known.
        has_objects: True if its batches have objects that move their tensors themselves.
        tokens_per_sample: mean tokens of a sample of text, padding left out; None: samples are no texts.
    """

    name: str
    version: int
    costs: Mapping[Framework, JobCost]
    data: str
    train_samples: int | None
    quality: JobQuality | None
    epochs: float | None
    accumulation_steps: int
    unchecked: tuple[str, ...]
    most_steps: int | None = None
    has_objects: bool = False
    tokens_per_sample: float | None = None

    networks = _NO_NETWORKS
    advice_on_blocks = "name blocks=(Class, ...) of its job, or "
    command = ""
    folder = ""

    @property
    def cost(self) -> JobCost:
        """Cost of the job in its first framework."""
        return next(iter(self.costs.values()))

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The one part of its training, with the loss and optimizer of the job."""
        return (Phase(name="training", protocol=Supervised(), optimizers={}),)

    @property
    def data_description(self) -> str:
        """The number of its samples."""
        count = self.train_samples
        samples = "samples that it does not count" if count is None else f"{count:,} samples"
        return f"{self.name} brings its own data: {samples}"

    def find_data_key(self, _source: str) -> tuple[str, str]:
        """Return the id of its data."""
        return self.data, OWN_SOURCE

    def count_train_samples(self, _ref: "DataRef") -> int | None:
        """Return what the job has counted."""
        return self.train_samples

    def count_all_samples(self, _global_batch_size: int) -> None:
        """Return None: its epochs decide."""

    def describe_for(self, framework: str | None) -> "NativeSpec":
        """Return the description with the cost in that framework alone."""
        return replace(self, costs={name: cost for name, cost in self.costs.items() if name == framework})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSpec:
    """A training script, started as a command once for every worker.

    Attributes:
        version: number of the content of the files that the command names.
        command: words of the command, with placeholders.
        folder: working directory of the command, absolute.
        python: path of the interpreter that the word `python` means; empty: the orchestrator's.
        steps_total: optimizer steps of the whole training; None if not known.
        samples_total: its samples; None if not known, or if its steps are.
        train_to_end: True if it trains on when enough is measured.
        reports: True if steps are expected: one of these files names the callback, or it is observed.
        is_observed: True if its steps are seen from outside.
    """

    name: str
    version: int
    command: str
    folder: str
    python: str
    steps_total: int | None
    train_to_end: bool
    reports: bool
    is_observed: bool = False
    samples_total: int | None = None
    quality: None = None
    epochs: None = None
    train_samples: None = None
    tokens_per_sample: None = None

    networks = _NO_NETWORKS
    unchecked = ()
    costs = _NO_COSTS
    accumulation_steps = 1
    most_steps = None
    has_objects = False
    advice_on_blocks = ""

    @property
    def data(self) -> str:
        """Id of its data, which nothing but the script knows."""
        return f"own:script:{self.version:x}"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The one part of its training."""
        return (Phase(name="training", protocol=Supervised(), optimizers={}),)

    @property
    def data_description(self) -> str:
        """Description of what is measured, for the script reads its data by itself."""
        return f"read by the script, which is measured in {'steps' if self.reports else _RUNS}"

    def find_data_key(self, _source: str) -> tuple[str, str]:
        """Return the id of its data."""
        return self.data, OWN_SOURCE

    def count_train_samples(self, _ref: "DataRef") -> None:
        """Return None: a script does not declare it."""

    def count_all_samples(self, global_batch_size: int) -> int | None:
        """Return the samples of all its steps; None: they are not known."""
        return self.samples_total or (self.steps_total or 0) * global_batch_size or None

    def describe_for(self, _framework: str | None) -> "ScriptSpec":
        """Return the script, which is the same for all frameworks."""
        return self


_RUNS = "runs: no file of its command names orchestrator_callback; script.observe=true measures steps"


class Workload(TypeProtocol):
    """Training task of a trial: `WorkloadSpec`, `NativeSpec` or `ScriptSpec`.

    What a kind does not have is empty, so that nothing needs to ask for the kind. `workloads.cost` counts a
    step of all kinds.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""

    @property
    def version(self) -> int:
        """Number that changes with what is computed; part of every trial_id."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Parts of the training; the last one is timed."""

    @property
    def networks(self) -> Mapping[str, Network]:
        """Declared networks by name; empty where the user's code has them."""

    @property
    def quality(self) -> Quality | JobQuality | None:
        """Quality measure of the trained network; None: nothing is evaluated."""

    @property
    def epochs(self) -> float | None:
        """Passes over the training set of a full training; None: unknown."""

    @property
    def train_samples(self) -> int | None:
        """Size of the training set that it brings with it; None: it brings none, or does not know."""

    @property
    def tokens_per_sample(self) -> float | None:
        """Mean tokens of a sample of text, padding left out; None: samples are no texts, or not known."""

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Identities that hold for declared workloads and are not known to hold here."""

    @property
    def costs(self) -> Mapping[Framework, JobCost]:
        """Cost of a user's job in every framework that has one; empty where there is no such job."""

    @property
    def accumulation_steps(self) -> int:
        """Parts of a replica's batch that the user's job puts through the model one after the other."""

    @property
    def most_steps(self) -> int | None:
        """Steps that the schedulers of a PyTorch job allow; None: no end is known."""

    @property
    def has_objects(self) -> bool:
        """True if its batches have objects that move their tensors themselves."""

    @property
    def advice_on_blocks(self) -> str:
        """Advice on making blocks known that can be computed again; empty where a declaration has them."""

    @property
    def command(self) -> str:
        """Words of the command that trains, with placeholders; empty: a trainer does."""

    @property
    def folder(self) -> str:
        """Working directory of the command, absolute; empty without one."""

    @property
    def data_description(self) -> str:
        """Description of the data that it brings with it, in one line; empty: it takes a data set."""

    def find_data_key(self, source: str, /) -> tuple[str, str]:
        """Return (data set, source), or (id, `OWN_SOURCE`) of its own data."""

    def count_train_samples(self, ref: "DataRef", /) -> int | None:
        """Return the size of its full training set, in its own samples; None if unknown."""

    def count_all_samples(self, global_batch_size: int, /) -> int | None:
        """Return the samples of a full training without declared passes; None: they are not known."""

    def describe_for(self, framework: str | None, /) -> NativeSpec | ScriptSpec | None:
        """Return the description that a worker needs; None: it makes the workload from its name."""


def classifier(
    name: str,
    network: Network,
    *,
    version: int,
    optimizer: Optimizer,
    data: DataNeed,
    quality: Quality,
    epochs: float | None = None,
    train_samples: int | None = None,
) -> WorkloadSpec:
    """Build the common case: one network that learns classes from labels."""
    phase = Phase(name="training", protocol=Supervised(), optimizers={"model": optimizer})
    return WorkloadSpec(
        name=name,
        version=version,
        networks={"model": network},
        phases=(phase,),
        data=data,
        quality=quality,
        epochs=epochs,
        train_samples=train_samples,
    )


def language_model(
    name: str,
    network: Network,
    *,
    version: int,
    optimizer: Optimizer,
    data: DataNeed,
    target: float,
    epochs: float | None = None,
) -> WorkloadSpec:
    """Build one network that learns to predict tokens; `target` is of the held-out loss, in nats."""
    phase = Phase(name="training", protocol=TokenPrediction(), optimizers={"model": optimizer})
    return WorkloadSpec(
        name=name,
        version=version,
        networks={"model": network},
        phases=(phase,),
        data=data,
        quality=Quality(
            measure="workloads.quality:token_prediction",
            metric="held_out_loss",
            target=target,
            higher_is_better=False,
            of_tokens=True,
        ),
        epochs=epochs,
    )
