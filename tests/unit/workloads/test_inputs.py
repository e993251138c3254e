"""Inputs of networks in words, and the sizes that they were published with."""

import pytest

from workloads.inputs import name_input
from workloads.registry import find_published_options, workload, workload_names


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("resnet50", {}, "images 32x32, 10 classes"),
        ("resnet50", {"image_size": 224, "num_classes": 1000}, "images 224x224, 1,000 classes"),
        ("retinopathy_cnn", {"binary": True}, "images 299x299, 2 classes"),
        ("imdb_bilstm", {}, "texts of 80 tokens, 2 classes"),
        ("gpt2", {"size": "small"}, "texts of 1,024 tokens, vocabulary 50,257"),
        ("mnist_gan", {}, "images 28x28"),
    ],
)
def test_an_input_is_named_by_its_size_and_classes(name, options, words):
    assert name_input(workload(name, options)) == words


def test_a_script_has_an_unknown_input():
    assert name_input(workload("script", {"command": "true"})) == ""


def test_published_sizes_give_networks():
    found = {name: find_published_options(name) for name in workload_names()}
    published = {name: options for name, options in found.items() if options}
    assert {"resnet50", "vgg16", "inception_v3", "vit_b16", "bert_base", "gpt2"} <= published.keys()
    assert "lenet5" not in published
    for name, options in published.items():
        assert name_input(workload(name, options)) != name_input(workload(name, {}))
