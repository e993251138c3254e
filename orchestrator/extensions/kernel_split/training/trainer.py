"""Convolutions split by output kernel over ranks of different speed; all else stays on rank 0, the master.

After Marques, Falcao, Alexandre 2018, "Distributed learning of CNNs on heterogeneous CPU/GPU architectures".
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from orchestrator.core.result import DeviceFacts
from orchestrator.core.work_share import KernelShare
from orchestrator.extensions.kernel_split.training.balance import Speeds
from orchestrator.extensions.kernel_split.training.calibration import (
    find_probes,
    largest_message,
    link_of_rank,
    map_flops,
    of_all_ranks,
)
from orchestrator.extensions.kernel_split.training.convolution import serve
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.extensions.kernel_split.training.networks import SplitNetworks, divided, split_layers
from orchestrator.extensions.kernel_split.training.rebalancing import Rebalancing
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer
from orchestrator.train.measurement.evaluation import Outputs, compute_quality
from orchestrator.train.measurement.loop import Clock
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_process import (
    build_autocast,
    build_facts,
    convert_to_tensors,
    drawing_states,
    join,
    leave,
    listen,
    load_device,
    matmul_benchmark,
    num_staged,
    set_drawing_states,
    set_float32_rounding,
)
from orchestrator.train.trainers.torch_state import copy_arrays, put_back, under
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.shapes import find_shapes
from workloads.spec import Phase, WorkloadSpec
from workloads.with_torch.training import Losses, Networks, build_optimizer, evaluated


class KernelSplitTrainer:
    """gloo between CPUs, nccl between GPUs. Run on CPUs; the path of GPUs has not been run.

    Every rank reads its share of a batch and hands it to the master. In a step the other ranks do what the
    master asks, and update the kernels that they hold.

    Args:
        clock: seconds; what each rank's kernels took by it is what `rebalance` goes by.
    """

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self.samples = 0
        self._taken = 0
        self._clock = clock

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, calibration, this rank's kernels, and the master's batches."""
        listener = listen(job)
        precision = PRECISIONS[job.precision]
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.trial.seed)
        self._job = job
        self._workload = workload
        self._batches = batches
        self._is_master = job.rank == MASTER
        self._device = load_device(job)
        set_float32_rounding(precision, self._device)
        self._networks = Networks(workload, job.trial.seed)
        self._networks.to(self._device)
        join(job, device=self._device, listener=listener)
        self._autocast = build_autocast(precision, self._device)
        self._wire = RankChannel(self._device, world_size=job.world_size)
        self._places = split_layers(self._networks)
        probed = self._calibrate()
        is_even = job.trial.trainer_options.get("shares") == "even"
        parts = divided(self._places, [[1.0] * job.world_size for _ in probed] if is_even else probed)
        self._watch = StepTimer(self._device, num_layers=len(self._places), clock=self._clock)
        self._split = SplitNetworks(
            self._networks, self._places, parts, rank=job.rank, wire=self._wire, watch=self._watch
        )
        self._rebalancing = Rebalancing(
            self._split, self._places, probed=probed, watch=self._watch, rank=job.rank, wire=self._wire
        )
        self._staged = [self._batch(i) for i in range(num_staged(batches, job))]

    def begin(self, phase: Phase) -> None:
        """Free the weights that the phase trains; each rank updates those that it holds."""
        trained = self._networks.train_in(phase)
        held = {*self._networks.parameters()} if self._is_master else self._split.parameters()
        self._names = list(phase.optimizers)
        self._model = Losses(self._networks, phase)
        self._watch.forget()
        self._rebalancing.begin()
        own = {name: [name for name in found if name in held] for name, found in trained.items()}
        self._optimizers = [
            build_optimizer(phase.optimizers[name], parameters)
            for name, parameters in own.items()
            if parameters
        ]

    def rebalance(self) -> None:
        """Rebalance kernels where the trial requests it: see `rebalancing`."""
        if self._job.trial.trainer_options.get("rebalance") == "on":
            self._rebalancing.look(self._optimizers, taken=self._taken)

    def step(self, index: int) -> None:
        """The master's forward and backward, which the others serve; then each one's update."""
        batch, samples = self._staged[index % len(self._staged)] if self._staged else self._batch(index)
        with self._watch.step():
            for optimizer in self._optimizers:
                optimizer.zero_grad()
            if self._is_master:
                self._lead(batch)
            else:
                serve(self._split.layers, self._wire)
            for optimizer in self._optimizers:
                optimizer.step()
        self.samples += samples
        self._taken = index + 1

    def synchronize(self) -> None:
        """Wait for the accelerator; a CPU has always finished."""
        if self._device.type != "cpu":
            torch.accelerator.synchronize()

    def losses(self) -> Mapping[str, float]:
        """The master's."""
        if not self._is_master:
            self._losses = torch.empty(len(self._names), device=self._device)
        return dict(zip(self._names, self._shared(self._losses).tolist(), strict=True))

    def without_exchange(self) -> None:
        """Do nothing, because every step needs the exchange."""
        return

    def compile_count(self) -> None:
        """Return None, because nothing is compiled."""
        return

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """The master computes the outputs, and each rank the quality from them."""
        chunk = self._batches.global_batch_size
        return compute_quality(self._predict, self._workload.quality, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Return the dtype of this rank's last convolution, its kernels and its link.

        The rest is that of the real steps: a network without its convolutions would be another one in memory.
        """
        last = [layer.dtype for layer in self._split.layers if layer.dtype is not None]
        dtype = last[-1] if last else self._probes[-1].dtype
        device = next(self._networks.parameters()).device
        return replace(
            build_facts(device, str(dtype).removeprefix("torch.")),
            kernel_shares=tuple(self._kernel_shares()),
            kernel_moves=tuple(self._rebalancing.moves),
            kernel_link=self._link,
            kernel_rest_seconds=self._watch.rest_seconds() if self._is_master else None,
        )

    def matmul_benchmark(self, size: int) -> Callable[[], Tensor]:
        """Build the product in the dtype that autocast chooses."""
        return matmul_benchmark(size, PRECISIONS[self._job.precision], self._device)

    def state(self) -> Mapping[str, Any]:
        """Return the state of all kernels on rank 0, and this rank's part on the others."""
        return self._split.gathered(self._networks.state())

    def checkpoint(self) -> Mapping[str, Any]:
        """Return the master's state, which is whole for any shares: only the master draws."""
        draws = {f"draws.{name}": state.numpy() for name, state in drawing_states(self._device).items()}
        return self._split.gathered(copy_arrays(self._networks, self._optimizers)) | draws

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Each rank takes what it holds now."""
        put_back(self._split.cut(arrays), self._networks, self._optimizers)
        set_drawing_states(under("draws.", arrays), self._device)

    def close(self) -> None:
        """Leave the process group, if there is one; what holds it lives until the process ends."""
        leave(self)

    def _lead(self, batch: dict[str, Tensor]) -> None:
        """The master's forward and backward."""
        with self._autocast:
            losses = self._model(batch)
        torch.autograd.backward([*losses.values()])
        self._losses = torch.stack([losses[name].detach() for name in self._names])
        with self._watch.away:
            self._wire.rest()

    def _calibrate(self) -> Speeds:
        """[place][rank], kernels a second in a step; the ranks' links too."""
        batch, world_size = self._batches.global_batch_size, self._job.world_size
        self._probes = find_probes(
            self._places,
            batch=batch,
            dtype=getattr(torch, PRECISIONS[self._job.precision].compute_dtype),
            world_size=world_size,
            synchronize=self.synchronize,
        )
        large = largest_message(self._places, batch=batch, world_size=world_size)
        self._link = link_of_rank(self._job.rank, self._wire, large, synchronize=self.synchronize)
        speeds = [
            probe.flops / probe.seconds / (batch * map_flops(place))
            for probe, place in zip(self._probes, self._places, strict=True)
        ]
        return of_all_ranks(speeds, self._wire)

    def _kernel_shares(self) -> Iterator[KernelShare]:
        for place, probe, layer in zip(self._places, self._probes, self._split.layers, strict=True):
            yield KernelShare(
                layer=place.name,
                kernels=len(layer.part.kernels),
                of_kernels=place.whole.out_channels,
                probe_flops=probe.flops,
                probe_seconds=probe.seconds,
            )

    def _predict(self, samples: Batch) -> Outputs:
        quality = self._workload.quality
        name = quality.network
        with torch.inference_mode():
            if self._is_master:
                network = self._networks[name].eval()
                with self._autocast:
                    arrays = {key: torch.from_numpy(array) for key, array in samples.items()}
                    on_device = {key: tensor.to(self._device) for key, tensor in arrays.items()}
                    outputs = evaluated(network, quality, on_device).contiguous()
                network.train()
                self._wire.rest()
            else:
                serve(self._split.layers, self._wire)
                shape = find_shapes(self._workload.networks[name])[-1]
                outputs = torch.empty((len(samples[quality.reads]), *shape), device=self._device)
            return self._shared(outputs).cpu().numpy()

    def _shared(self, tensor: Tensor) -> Tensor:
        """The master's, on every rank."""
        if self._job.world_size > 1:
            dist.broadcast(tensor, MASTER)
        return tensor

    def _batch(self, index: int) -> tuple[dict[str, Tensor], int]:
        """Batch `index`, whole on the master and this rank's share of it on another; samples of the share."""
        share = self._batches.shard(index, rank=self._job.rank, world_size=self._job.world_size)
        tensors = {
            name: tensor.to(self._device) for name, tensor in sorted(convert_to_tensors(share).items())
        }
        for name, tensor in tensors.items():
            tensors[name] = self._gathered(tensor)
        return tensors, len(share["x"])

    def _gathered(self, share: Tensor) -> Tensor:
        if not self._is_master:
            self._wire.send(share, MASTER)
            self._wire.settle()
            return share
        ranks = range(1, self._job.world_size)
        return torch.cat([share, *(self._wire.receive(torch.empty_like(share), rank) for rank in ranks)])
