"""Copies of batches to a device: their order, and the time that steps wait for them."""

import time

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from orchestrator.train.trainers.batch_copies import BatchCopies

SECONDS = 0.05


class SlowTensor:
    """Stands for a tensor on a device to which copies take a while."""

    def to(self, _device: object) -> "SlowTensor":
        time.sleep(SECONDS)
        return self


class Link:
    """A copier whose copies take a while from their start on, and the order of all that happens."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def read(self, index: int) -> dict[str, int]:
        self.events.append(f"read {index}")
        return {"x": index}

    def start(self, batch: dict[str, int]) -> "Copying":
        self.events.append(f"start {batch['x']}")
        return Copying(self, batch, until=time.monotonic() + SECONDS)


class Copying:
    def __init__(self, link: Link, batch: dict[str, int], *, until: float) -> None:
        self._link, self._batch, self._until = link, batch, until

    def finished(self) -> dict[str, int]:
        time.sleep(max(0.0, self._until - time.monotonic()))
        self._link.events.append(f"finish {self._batch['x']}")
        return self._batch


def copies_of(link: Link, *, waits: list[float], ahead: bool = True, last: int = 3) -> BatchCopies:
    def copy(batch: dict[str, int]) -> dict[str, int]:
        link.events.append(f"copy {batch['x']}")
        return batch

    return BatchCopies(
        read=link.read, copy=copy, copier=link if ahead else None, add_wait=waits.append, last=last
    )


def test_a_copy_that_blocks_a_step_counts_as_waiting():
    waits: list[float] = []
    copies = BatchCopies(
        read=lambda _index: {"x": SlowTensor()},
        copy=lambda batch: {name: tensor.to("cuda") for name, tensor in batch.items()},
        copier=None,
        add_wait=waits.append,
        last=9,
    )
    copies.take(0)
    assert sum(waits) >= SECONDS


def test_the_next_batch_is_copied_while_the_current_one_is_used():
    link, waits = Link(), []
    copies = copies_of(link, waits=waits)
    for index in range(4):
        assert copies.take(index) == {"x": index}
        copies.prepare(index + 1)
        time.sleep(2 * SECONDS)  # the step
    assert link.events == [
        *("read 0", "copy 0"),
        *("read 1", "start 1", "finish 1"),
        *("read 2", "start 2", "finish 2"),
        *("read 3", "start 3", "finish 3"),
    ]
    assert sum(waits) < SECONDS


def test_a_step_that_is_shorter_than_its_copy_waits_for_the_rest():
    link, waits = Link(), []
    copies = copies_of(link, waits=waits)
    copies.take(0)
    copies.prepare(1)
    copies.take(1)
    assert sum(waits) >= 0.8 * SECONDS


def test_a_batch_out_of_order_is_read_anew():
    link = Link()
    copies = copies_of(link, waits=[])
    copies.prepare(1)
    assert copies.take(3) == {"x": 3}
    assert link.events == ["read 1", "start 1", "read 3", "copy 3"]


def test_without_a_copier_no_batch_is_copied_ahead():
    link = Link()
    copies = copies_of(link, waits=[], ahead=False)
    copies.take(0)
    copies.prepare(1)
    assert link.events == ["read 0", "copy 0"]
