"""VGG11, configuration A, on CIFAR-10's images.

Its sources and our choices are in workloads/families/vgg.py.
"""

from workloads.families.classifier import IMAGENET, ImageOptions, image_classifier
from workloads.families.vgg import EPOCHS, SMALLEST, vgg
from workloads.spec import WorkloadSpec

VERSION = 1
Options = ImageOptions
PUBLISHED = IMAGENET


def make(options: ImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    network = vgg(options, convolutions=(1, 1, 2, 2, 2))
    return image_classifier("vgg11", options, network, version=VERSION, smallest=SMALLEST, epochs=EPOCHS)
