"""Networks that grade diabetic retinopathy on photographs of the fundus.

After Künas, Padoin, Navaux 2023, "Accelerating Deep Learning Model Training on Cloud Tensor Processing
Unit" (CLOSER). Known of it are the abstract, the introduction and a part of the references: a convolutional
network that probably classifies the stages of the disease, trained on a CPU, a GPU and a Cloud TPU.
Network, input size, data set, optimizer and epochs are not known, so what follows is our assumption:
Inception-v3 on 299 pixels, as in a public replication of Gulshan et al. 2016 ("Development and Validation
of a Deep Learning Algorithm for Detection of Diabetic Retinopathy in Retinal Fundus Photographs"), which
reports an AUC of 0.951 on EyePACS; its RMSProp and its ImageNet weights are replaced by Adam and weights
drawn at random. It trains for 200 epochs at most, and stops earlier where 10 bring nothing; a full training
here is those 200.
"""

from dataclasses import dataclass

from workloads.data.need import DataNeed
from workloads.families import efficientnet, inception, resnet
from workloads.families.classifier import require_rates, require_size
from workloads.names import unknown_name
from workloads.spec import Adam, Quality, WorkloadSpec, classifier

VERSION = 1

_EPOCHS = 200

_NETWORKS = {
    "inception_v3": (inception.inception_v3, inception.SMALLEST),
    "efficientnet_b0": (efficientnet.efficientnet_b0, efficientnet.SMALLEST),
    "resnet50": (resnet.resnet50, resnet.SMALLEST),
}
_GRADES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of the task, the network and its optimizer.

    Attributes:
        network: `inception_v3`, `efficientnet_b0` or `resnet50`.
        image_size: side in pixels to which the photographs are resized.
        binary: two classes, referable (grade 2 and above) and not, instead of the five grades.
        width: multiplies the filters of every layer.
        learning_rate: learning rate of Adam.
    """

    network: str = "inception_v3"
    image_size: int = 299
    binary: bool = False
    width: float = 1.0
    learning_rate: float = 1e-3


def make(options: Options) -> WorkloadSpec:
    """Spell the task out.

    Raises:
        UnsuitableInputError: the images are too small for the network.
        ValueError: a knob is out of range.
    """
    if options.network not in _NETWORKS:
        raise unknown_name("retinopathy_cnn network", options.network, known=_NETWORKS)
    build, smallest = _NETWORKS[options.network]
    require_size(f"retinopathy_cnn of {options.network}", options.image_size, smallest=smallest)
    require_rates("retinopathy_cnn", learning_rate=options.learning_rate, width=options.width)
    return classifier(
        "retinopathy_cnn",
        build(options.image_size, 2 if options.binary else _GRADES, width=options.width),
        version=VERSION,
        optimizer=Adam(learning_rate=options.learning_rate),
        data=DataNeed(
            data_set="workloads.data.fundus:FUNDUS", image_size=options.image_size, binary=options.binary
        ),
        quality=Quality(
            measure=f"workloads.quality:{'referable' if options.binary else 'graded'}",
            metric="auc",
            target=0.95,
        ),
        epochs=_EPOCHS,
    )
