"""Model name -> family: models that are built alike, of which one tells much about the other."""

import re

_TOYS = "toy"

_BY_BEGINNING = {
    "alexnet": "alexnet",
    "cifar": _TOYS,
    "densenet": "densenet",
    "efficientnet": "efficientnet",
    "inception": "inception",
    "lenet": _TOYS,
    "mnist": _TOYS,
    "mobilenet": "mobilenet",
    "nasnet": "nasnet",
    "resnet": "resnet",
    "vgg": "vgg",
    "xception": "xception",
}
"""What lower-case names begin with -> family. A network of a few layers for small images is a toy."""


def family_of(model: str) -> str:
    """The family that a name tells; of a name that is not known, the letters it begins with."""
    name = model.lower()
    for beginning, family in _BY_BEGINNING.items():
        if name.startswith(beginning):
            return family
    letters = re.match(r"[^\W\d_]+", name)
    return letters.group() if letters else name
