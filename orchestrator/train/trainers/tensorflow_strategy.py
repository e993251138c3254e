"""(job) -> TensorFlow's distribution strategy, with threads and devices set before the first operation."""

from typing import Any

import tensorflow as tf

from orchestrator.core.errors import TrialError
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.absent_accelerator import absent_accelerator


def configure_strategy(job: WorkerJob) -> Any:
    """Configure TensorFlow's context for this process and make the strategy.

    Several processes: MultiWorkerMirroredStrategy, of one device each. One process of several replicas:
    MirroredStrategy, over logical devices on a CPU. A TPU: TPUStrategy, written from its documentation and
    never run.

    Raises:
        TrialError: `device_mismatch`, when there are too few devices; `environment`, when this TensorFlow
            sees none or has no kernels for them.
    """
    num_local = job.replicas // job.world_size
    tf.config.threading.set_intra_op_parallelism_threads(job.threads)
    tf.config.threading.set_inter_op_parallelism_threads(num_local)
    if job.kind == "tpu":
        return _tpu()
    devices = _gpus(job, num_local) if job.kind == "gpu" else _cpus(num_local)
    if job.world_size > 1:
        kinds = tf.distribute.experimental.CommunicationImplementation
        implementation = kinds.NCCL if job.kind == "gpu" else kinds.RING
        options = tf.distribute.experimental.CommunicationOptions(implementation=implementation)
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    if num_local > 1:
        return tf.distribute.MirroredStrategy(devices)
    return tf.distribute.get_strategy()


def _cpus(count: int) -> list[str]:
    if count > 1:
        (cpu,) = tf.config.list_physical_devices("CPU")
        logical = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        tf.config.set_logical_device_configuration(cpu, logical)
    return [f"CPU:{index}" for index in range(count)]


def _gpus(job: WorkerJob, count: int) -> list[str]:
    """Make only this process's GPUs visible to it; TensorFlow numbers them from 0."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        raise absent_accelerator(job, f"TensorFlow {tf.__version__}")
    if len(gpus) < count:
        raise TrialError(
            "device_mismatch", f"trial asks for {count} GPUs; TensorFlow {tf.__version__} sees {len(gpus)}"
        )
    first = int(job.variables["LOCAL_RANK"]) * count % len(gpus)
    tf.config.set_visible_devices(gpus[first : first + count], "GPU")
    return [f"GPU:{index}" for index in range(count)]


def _tpu() -> Any:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    try:
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except tf.errors.NotFoundError as error:
        raise TrialError(
            "environment",
            f"TensorFlow {tf.__version__} has no TPU kernels; get them: pip install 'tensorflow-tpu==2.20.*'",
        ) from error
    return tf.distribute.TPUStrategy(resolver)
