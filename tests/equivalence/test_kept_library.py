"""Networks of the zoo are those of keras.applications: the same weights give the same logits."""

import numpy as np
import pytest

from workloads.families.efficientnet import efficientnet_b0
from workloads.network import Network
from workloads.registry import workload
from workloads.shapes import network_parameters

torch = pytest.importorskip("torch")
keras = pytest.importorskip("keras")

from workloads.with_torch.network import TorchNetwork, load_state  # noqa: E402 (skipped above where torch is missing)

CLASSES = 10


def network_of(name: str, image_size: int) -> Network:
    if name == "efficientnet_b0":
        return efficientnet_b0(image_size, CLASSES, width=1.0)
    return workload(name, {"image_size": image_size, "num_classes": CLASSES}).networks["model"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Keras' layers in the order in which they are made, which their model does not keep."""
    layers: list[object] = []
    original = keras.layers.Layer.__init__

    def kept(layer: object, *arguments: object, **options: object) -> None:
        original(layer, *arguments, **options)
        layers.append(layer)

    monkeypatch.setattr(keras.layers.Layer, "__init__", kept)
    return layers


def draw_statistics(layer: object) -> None:
    """Normalise by something: at first neither mean nor variance does anything."""
    random = np.random.default_rng(3)
    for variable in layer.weights:
        low, high = (0.5, 1.5) if "gamma" in variable.path or "variance" in variable.path else (-0.3, 0.3)
        variable.assign(random.uniform(low, high, variable.shape))


@pytest.mark.more_except("VGG16", "MobileNetV2")
@pytest.mark.slow_cases("InceptionResNetV2-inception_resnet_v2-75", "EfficientNetB0", "Xception")
@pytest.mark.parametrize(
    ("model", "name", "image_size"),
    [  # sizes at which Keras too pads both sides of each stride of 2 alike
        ("VGG16", "vgg16", 32),
        ("MobileNetV2", "mobilenet_v2", 33),
        ("EfficientNetB0", "efficientnet_b0", 33),
        ("Xception", "xception", 71),
        ("InceptionV3", "inception_v3", 75),
        ("InceptionResNetV2", "inception_resnet_v2", 75),
    ],
)
def test_logits_are_those_of_keras_applications(
    made: list[object], model: str, name: str, image_size: int
) -> None:
    shape = (image_size, image_size, 3)
    build = getattr(keras.applications, model)
    theirs = build(weights=None, input_shape=shape, classes=CLASSES, classifier_activation=None)
    kept = (keras.Model, keras.layers.Normalization)
    layers = [layer for layer in made if layer.weights and not isinstance(layer, kept)]
    for layer in layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            draw_statistics(layer)
    network = network_of(name, image_size)
    arrays = (variable.value.numpy() for layer in layers for variable in layer.weights)
    ours = TorchNetwork(network).eval()
    named = zip(network_parameters(network).items(), arrays, strict=True)
    load_state(ours, {name: array.reshape(shape) for (name, shape), array in named})
    images = np.random.default_rng(4).random((2, *shape), dtype=np.float32)
    with torch.no_grad():
        found = ours(torch.from_numpy(images)).numpy()
    # EfficientNet's own first layer divides by 255
    expected = theirs(images * 255 if model == "EfficientNetB0" else images, training=False).numpy()
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
