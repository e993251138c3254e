"""A sweep against simulated clocks, prices and nodes: it never spends more than its caps and the grace."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from builders import placement, record, trial_spec
from cluster_builders import inventory, pool
from hypothesis import given, settings
from hypothesis import strategies as st
from price_builders import price

from orchestrator.core.budget import Budget
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.plan.spending import Quotes

NUM_NODES = 2
USD_PER_SECOND = 0.001
IDLE_SECONDS = 20.0
DEADLINES = Deadlines(resources_seconds=600.0, start_seconds=10.0, run_seconds=90.0)
TOLD = Failure(kind="budget", message="told to leave")


@dataclass(frozen=True)
class Market:
    billing_seconds: float

    def find_price(self, _placed: Placement) -> Price:
        return price(billing_seconds=self.billing_seconds)


@dataclass
class Node:
    """Up from its first trial until it has idled for its time after the last one."""

    name: str
    start: float
    end: float
    is_busy: bool = True


@dataclass
class Busy:
    node: Node
    placed: Placement
    start: float
    end: float
    is_told: bool = False


@dataclass
class World:
    """Nodes that come up when a trial needs one, and go away when they have idled."""

    price_book: Market
    now: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    busy: list[Busy] = field(default_factory=list)

    def start(self, placed: Placement, *, seconds: float) -> None:
        free = (node for node in self.nodes if not node.is_busy and self.now <= node.end + IDLE_SECONDS)
        node = next(free, None)
        if node is None:
            node = Node(name=f"t4-{len(self.nodes)}", start=self.now, end=self.now)
            self.nodes.append(node)
        node.is_busy = True
        self.busy.append(Busy(node, placed, self.now, self.now + seconds))

    def tell(self, trial: str, *, grace: float) -> None:
        [one] = [item for item in self.busy if item.placed.trial_id == trial]
        if not one.is_told:
            one.is_told, one.end = True, min(one.end, self.now + grace)

    def ended(self) -> Sequence[TrialRecord]:
        over = [item for item in self.busy if item.end <= self.now]
        self.busy = [item for item in self.busy if item.end > self.now]
        for element in over:
            element.node.is_busy, element.node.end = False, element.end
        return [self._build_record(busy) for busy in over]

    def _build_record(self, one: Busy) -> TrialRecord:
        ended_with = {"failure": TOLD} if one.is_told else {}
        made = record(placement=replace(one.placed, node=one.node.name), **ended_with)
        cost = self.price_book.find_price(one.placed)
        return replace(made, started_at=one.start, ended_at=one.end, price=cost)

    @property
    def node_seconds(self) -> float:
        return sum(node.end + IDLE_SECONDS - node.start for node in self.nodes)


def trial(index: int, *, setting: int) -> Placement:
    spec = trial_spec(device="t4", seed=setting, repeat=index)
    return placement(spec, kind="gpu", cpus=8, devices=1, pool="t4", node="t4")


@settings(max_examples=200)
@given(
    usd=st.one_of(st.none(), st.floats(0.001, 0.6)),
    hours=st.one_of(st.none(), st.floats(0.001, 0.2)),
    usd_per_trial=st.one_of(st.none(), st.floats(0.001, 0.3)),
    price_book=st.builds(Market, billing_seconds=st.sampled_from([1.0, 60.0])),
    jobs=st.lists(st.tuples(st.integers(3, 200), st.integers(0, 2)), min_size=1, max_size=8),
    known_seconds=st.one_of(st.none(), st.integers(3, 60)),
    grace=st.floats(0.0, 30.0),
    look=st.floats(3.0, 20.0),
)
def test_spend_never_passes_a_cap_by_more_than_the_grace(
    usd, hours, usd_per_trial, price_book, jobs, known_seconds, grace, look
):
    """Check trials of any duration and any estimate; the queue looks at the budget every `look` seconds."""
    placed = [trial(index, setting=setting) for index, (_, setting) in enumerate(jobs)]
    seconds = {
        each.trial_id: float(each_seconds) for each, (each_seconds, _) in zip(placed, jobs, strict=True)
    }
    known = [record(placement=item, started_at=0.0, ended_at=float(known_seconds or 0)) for item in placed]
    world = World(price_book)
    tracker = BudgetTracker(
        Budget(usd=usd, hours=hours, usd_per_trial=usd_per_trial),
        records=(),
        quotes=Quotes(known if known_seconds else (), price_book=price_book, deadlines=DEADLINES),
        price_book=price_book,
        idle_seconds=IDLE_SECONDS,
        clock=lambda: world.now,
    )
    queue = Queue(
        placed,
        inventory=inventory(pool("t4", max_nodes=NUM_NODES)),
        prior_attempts={},
        retry_limits={},
        budget_tracker=tracker,
    )
    records: list[TrialRecord] = []
    while not queue.is_drained:
        while attempt := queue.take():
            world.start(attempt.placement, seconds=seconds[attempt.placement.trial_id])
        for leaver in queue.leaving():
            world.tell(leaver.placement.trial_id, grace=grace)
        world.now += look
        for made in world.ended():
            records.append(made)
            queue.end(made)
    assert len(records) + len(tracker.balance.left_out) == len(jobs)
    over_seconds = 2 * look + grace + price_book.billing_seconds  # a look tells of an end, another of the cap
    billed = [price_book.find_price(record.placement).billed_seconds(record.seconds) for record in records]
    if usd is not None:
        assert world.node_seconds * USD_PER_SECOND <= usd + NUM_NODES * over_seconds * USD_PER_SECOND
    if hours is not None:
        assert world.node_seconds / 3600 <= hours + NUM_NODES * over_seconds / 3600
    if usd_per_trial is not None:
        assert max(billed, default=0.0) * USD_PER_SECOND <= (
            usd_per_trial + (look + grace + 2 * price_book.billing_seconds) * USD_PER_SECOND
        )
