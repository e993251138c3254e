"""A generator that draws MNIST's digits, and a discriminator that separates them from real ones.

After Ravikumar and Sriraman 2023 (Computer Systems Science and Engineering 46(1), article 51337). Known of
it is the abstract: a GAN on MNIST, mixed precision with bfloat16, synchronous data parallelism over the
cores of a TPU v3, batches of 64 to 512, 30 epochs. Layers, latent size and optimizer are not known, so what
follows is our assumption: the networks of DCGAN (Radford, Metz, Chintala 2016) at the size of TensorFlow's
tutorial, and narrower by default for a CPU.
"""

from dataclasses import dataclass

from workloads.data.need import DataNeed, Noise
from workloads.layers import Activation, BatchNorm, Conv2d, ConvTranspose2d, Dense, Dropout, Flatten, Reshape
from workloads.network import Network, sequential
from workloads.spec import Adam, Gan, Phase, Quality, WorkloadSpec

VERSION = 1

_EPOCHS = 30  # as the abstract tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of both networks.

    Attributes:
        width: filters of the discriminator's first convolution; 64 is the tutorial's, 16 draws in seconds.
        latent: length of the noise that a digit is drawn from.
        dropout: rate behind the discriminator's convolutions.
        learning_rate, beta_1: parameters of Adam, for both networks.
    """

    width: int = 16
    latent: int = 64
    dropout: float = 0.3
    learning_rate: float = 1e-3
    beta_1: float = 0.5

    def __post_init__(self) -> None:
        for name in ("width", "latent"):
            if getattr(self, name) < 1:
                raise ValueError(f"mnist_gan {name}={getattr(self, name)} must be at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"mnist_gan dropout={self.dropout} must lie in [0, 1)")
        if not 0 < self.learning_rate < 1:
            raise ValueError(f"mnist_gan learning_rate={self.learning_rate} must lie in (0, 1)")
        if not 0 <= self.beta_1 < 1:
            raise ValueError(f"mnist_gan beta_1={self.beta_1} must lie in [0, 1)")


def make(options: Options) -> WorkloadSpec:
    """Spell the task out."""
    adam = Adam(learning_rate=options.learning_rate, beta_1=options.beta_1)
    both = {"generator": adam, "discriminator": adam}
    return WorkloadSpec(
        name="mnist_gan",
        version=VERSION,
        networks={"generator": _generator(options), "discriminator": _discriminator(options)},
        phases=(Phase(name="training", protocol=Gan(), optimizers=both),),
        data=DataNeed(data_set="workloads.data.mnist:MNIST"),
        noise=(Noise(name="latent", shape=(options.latent,), kind="normal"),),
        quality=Quality(
            measure="workloads.mnist_gan.frechet:frechet_distance",
            metric="frechet_distance",
            target=45.0,
            higher_is_better=False,
            network="generator",
            reads="latent",
        ),
        epochs=_EPOCHS,
    )


def _generator(options: Options) -> Network:
    """Noise -> images [batch, 28, 28, 1] in [-1, 1]."""
    widest = 4 * options.width
    return sequential(
        (options.latent,),
        Dense(units=7 * 7 * widest, bias=False, initializer="dcgan"),
        BatchNorm(),
        Activation(kind="leaky_relu"),
        Reshape(shape=(7, 7, widest)),
        ConvTranspose2d(filters=2 * options.width, kernel=5, bias=False),
        BatchNorm(),
        Activation(kind="leaky_relu"),
        ConvTranspose2d(filters=options.width, kernel=5, stride=2, bias=False),
        BatchNorm(),
        Activation(kind="leaky_relu"),
        ConvTranspose2d(filters=1, kernel=5, stride=2),
        Activation(kind="tanh"),
    )


def _discriminator(options: Options) -> Network:
    """Images in [-1, 1] -> one logit, above zero for real."""
    return sequential(
        (28, 28, 1),
        Conv2d(filters=options.width, kernel=5, stride=2, padding=2, initializer="dcgan"),
        Activation(kind="leaky_relu"),
        Dropout(rate=options.dropout),
        Conv2d(filters=2 * options.width, kernel=5, stride=2, padding=2, initializer="dcgan"),
        Activation(kind="leaky_relu"),
        Dropout(rate=options.dropout),
        Flatten(),
        Dense(units=1, initializer="dcgan"),
    )
