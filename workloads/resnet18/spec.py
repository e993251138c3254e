"""ResNet-18 on CIFAR-10's images.

Its sources and our choices are in workloads/families/resnet.py.
"""

from workloads.families.classifier import IMAGENET, ImageOptions, image_classifier
from workloads.families.resnet import EPOCHS, SMALLEST, resnet
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions
PUBLISHED = IMAGENET


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    network = resnet(options.image_size, options.num_classes, width=options.width, blocks=(2, 2, 2, 2))
    return image_classifier("resnet18", options, network, version=VERSION, smallest=SMALLEST, epochs=EPOCHS)
