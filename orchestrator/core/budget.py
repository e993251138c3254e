"""Budget of a sweep: caps, cost of holding nodes, and the cap that an attempt would exceed. Pure."""

import math
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError
from orchestrator.core.interval import Spread
from orchestrator.core.price import Price

_SECONDS_PER_HOUR = 3600
_ROUNDING = 1e-9
"""Relative tolerance of a cap, so that a sum of floats that equals the cap does not exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Money, and hours of nodes: two nodes for an hour are two."""

    usd: float = 0.0
    node_hours: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(usd=self.usd + other.usd, node_hours=self.node_hours + other.node_hours)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRate:
    """Cost of an attempt per second that it holds its nodes.

    Attributes:
        nodes: number of nodes, if no price gives it.
        price: None: it costs no money that is known.
    """

    nodes: int
    price: Price | None

    def of(self, seconds: float) -> Spend:
        """Return the spending over that many seconds."""
        if self.price is None:
            return Spend(node_hours=self.nodes * seconds / _SECONDS_PER_HOUR)
        hours = self.price.billed_seconds(seconds) / _SECONDS_PER_HOUR
        return Spend(usd=hours * self.price.usd_per_hour, node_hours=hours * self.price.num_nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Caps of a sweep; None means no cap.

    Attributes:
        usd: cap of the whole sweep, including earlier commands and idle nodes.
        hours: cap on the node-hours of the whole sweep.
        usd_per_trial: cap of all attempts at one trial.
        confirm_usd: a plan that likely costs more needs consent before it runs.
    """

    usd: float | None = None
    hours: float | None = None
    usd_per_trial: float | None = None
    confirm_usd: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ConfigError(f"budget.{name}={value} must be 0 or more and finite, or null for no cap")

    @property
    def is_capped(self) -> bool:
        """True where a cap can stop the sweep."""
        return (self.usd, self.hours, self.usd_per_trial) != (None, None, None)

    def passed_by(self, more: Spend, *, spent: Spend, of_trial: Spend) -> str | None:
        """The cap that `more` passes, as `budget.usd=5`; None: it adds to none that would be.

        Args:
            more: cost of one attempt.
            spent: cost of all trials so far.
            of_trial: cost of this trial so far.
        """
        sums = {
            "usd": (more.usd, spent.usd),
            "hours": (more.node_hours, spent.node_hours),
            "usd_per_trial": (more.usd, of_trial.usd),
        }
        for name, (added, before) in sums.items():
            cap = getattr(self, name)
            if cap is not None and added > 0 and before + added > cap * (1 + _ROUNDING):
                return f"budget.{name}={cap:g}"
        return None


UNCAPPED = Budget()


KnownBy = Literal["measured", "rehearsed", "predicted", "compiled", "deadline"]
"""Provenance of the time of an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """Estimated cost of an attempt.

    Attributes:
        seconds: time that a cap counts: what others of the same setting took, else all that its deadlines
            allow.
        known_by: provenance of `expected`; `deadline`: nothing is known but an upper bound.
        expected: time that it likely takes; None: not known.
        is_without_setup: `expected` covers its steps alone.
        is_rented: its nodes are of a pool, and start for it.
    """

    rate: CostRate
    seconds: float
    known_by: KnownBy
    expected: Spread | None = None
    is_without_setup: bool = False
    is_rented: bool = False

    @property
    def spend(self) -> Spend:
        """Total spending that a cap counts."""
        return self.rate.of(self.seconds)

    @property
    def is_recorded(self) -> bool:
        """True if the time is that of other trials of the same setting."""
        return self.known_by in ("measured", "rehearsed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStatus:
    """Budget status of a sweep: caps, spending and estimates.

    Attributes:
        spent: cost of all attempts so far, and of idle nodes.
        quotes: estimated costs of the trials that fit into the budget.
        left_out: (cap, quote) of those that would pass one.
        stopped: the caps at which attempts were ended.
        is_hypothetical: True if one of its prices is.
        num_unpriced: measured attempts that cost no money that is known.
    """

    budget: Budget
    spent: Spend
    quotes: tuple[CostEstimate, ...] = ()
    left_out: tuple[tuple[str, CostEstimate], ...] = ()
    stopped: tuple[str, ...] = ()
    num_unpriced: int = 0
    is_hypothetical: bool = False
