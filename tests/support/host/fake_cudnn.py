"""A Keras that believes in a GPU, so that its recurrent layers use cuDNN's operation on every device."""

from types import ModuleType

from patched_import import patch_when_imported


def plant() -> None:
    """Replace Keras' look for GPUs from its import on."""
    patch_when_imported("keras.src.backend.tensorflow.rnn", after=_believe_in_a_gpu)


def _believe_in_a_gpu(rnn: ModuleType) -> None:
    rnn._is_gpu_available = lambda: True
