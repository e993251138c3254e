"""A small transformer that reads which opinion a sentence ends with."""

from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.layers import Activation, Add, Custom, Dense, Embedding, GlobalAveragePool
from workloads.network import Draft, Network
from workloads.spec import Adam, Quality, WorkloadSpec, classifier

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Options:
    """Knobs; each may be an axis of a sweep."""

    sequence_length: int = 12
    units: int = 32
    heads: int = 4
    blocks: int = 1
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        if self.units % self.heads:
            raise ValueError(f"text_transformer units={self.units} must be a multiple of heads={self.heads}")


def make(options: Options) -> WorkloadSpec:
    return classifier(
        "text_transformer",
        network(options),
        version=VERSION,
        optimizer=Adam(learning_rate=options.learning_rate),
        data=DataNeed(
            data_set="text_transformer.data:SENTENCES",
            vocabulary=64,
            sequence_length=options.sequence_length,
        ),
        quality=Quality(measure="text_transformer.quality:reading", metric="worst_recall", target=0.9),
        epochs=20,
    )


def network(options: Options) -> Network:
    """Token ids [batch, step] -> two logits."""
    draft = Draft(input_shape=(options.sequence_length,))
    draft.add(Embedding(vocabulary=64, units=options.units))
    for _ in range(options.blocks):
        attended = draft.add(self_attention(options))
        changed = draft.chain(
            Dense(units=2 * options.units, initializer="he"),
            Activation(kind="relu"),
            Dense(units=options.units),
        )
        draft.add(Add(), attended, changed)
    draft.chain(GlobalAveragePool(), Dense(units=2))
    return draft.done()


def self_attention(options: Options) -> Custom:
    """The layer that the orchestrator does not have, once for each framework."""
    length, units = options.sequence_length, options.units
    kernels = ("query_kernel", "key_kernel", "value_kernel", "output_kernel")
    return Custom(
        torch="text_transformer.torch_attention:SelfAttention",
        keras="text_transformer.keras_attention:SelfAttention",
        arguments=(("length", length), ("units", units), ("heads", options.heads)),
        parameters=(
            ("gamma", (units,)),
            ("beta", (units,)),
            ("position", (length, units)),
            *((name, (units, units)) for name in kernels),
        ),
        output_shape=(length, units),
        forward_flops=2.0 * length * units * (4 * units + 2 * length),
    )
