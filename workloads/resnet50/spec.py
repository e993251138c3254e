"""ResNet-50 on CIFAR-10's images.

Its sources and our choices are in workloads/families/resnet.py.
"""

from workloads.families.classifier import IMAGENET, ImageOptions, image_classifier
from workloads.families.resnet import EPOCHS, SMALLEST, resnet50
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions
PUBLISHED = IMAGENET


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    network = resnet50(options.image_size, options.num_classes, width=options.width)
    return image_classifier("resnet50", options, network, version=VERSION, smallest=SMALLEST, epochs=EPOCHS)
