"""Inception-v3 on CIFAR-10's images; the network is in workloads/families/inception.py.

PROFET (Lee, Hur, Park, Lee 2022) trains it on random images; CIFAR-10 is our choice.
"""

from workloads.families.classifier import LARGE_IMAGENET, LargeImageOptions, image_classifier
from workloads.families.inception import EPOCHS, SMALLEST, inception_v3
from workloads.spec import WorkloadSpec

VERSION = 1
Options = LargeImageOptions
PUBLISHED = LARGE_IMAGENET


def make(options: LargeImageOptions) -> WorkloadSpec:
    """Spell the task out."""
    network = inception_v3(options.image_size, options.num_classes, width=options.width)
    return image_classifier(
        "inception_v3", options, network, version=VERSION, smallest=SMALLEST, epochs=EPOCHS
    )
