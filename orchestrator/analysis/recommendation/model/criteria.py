"""Criteria of the best setting of a job, and the required confidence. Pure."""

import math
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.analysis.recommendation.model.acquisition import TOLERANCE
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Aim
from orchestrator.core.price import Price, PriceList, Unpriced
from orchestrator.core.search import Search

CONFIDENCE = 0.95
"""Default chance of a setting to be good above which the answer is settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Goal, limits and requested confidence.

    Attributes:
        confidence: chance from which on an answer is settled.
        tolerance: how far above the best a good setting may lie, as a share.
        learns: settings that were not measured are estimated from those that were (`factors.py`).
        budget_usd: the most that all further measurements may cost; None: no cap.
    """

    objective: Objective
    confidence: float = CONFIDENCE
    budget_usd: float | None = None
    tolerance: float = TOLERANCE
    learns: bool = False

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of time, cost and quality; their sum is 1."""
        return _find_weights(self.objective)

    @property
    def needs_prices(self) -> bool:
        """True where a setting without a price cannot be judged."""
        return self.weights[1] > 0 or (self.objective.budget_usd, self.budget_usd) != (None, None)

    @property
    def needs_quality(self) -> bool:
        """True where a setting without a quality cannot be judged."""
        return self.weights[2] == 1 or self.objective.quality is not None

    def check(self, prices: PriceList) -> None:
        """Refuse what needs prices where there are none. Raises ConfigError."""
        if self.needs_prices and not prices.rows:
            caps = {"budget.usd": self.budget_usd, "report.budget_usd": self.objective.budget_usd}
            capped = [name for name, cap in caps.items() if cap is not None]
            what = capped[0] if capped else f"report.goal={self.objective.goal}"
            raise ConfigError(f"{what} needs prices, and prices={prices.name} has none")


@lru_cache(maxsize=16)
def _find_weights(objective: Objective) -> tuple[float, float, float]:
    weights = {
        "fastest": (1.0, 0.0, 0.0),
        "cheapest": (0.0, 1.0, 0.0),
        "best": (0.0, 0.0, 1.0),
        "balanced": (objective.weight_time, objective.weight_cost, objective.weight_quality),
    }[objective.goal]
    time, cost, quality = (weight / math.fsum(weights) for weight in weights)
    return time, cost, quality


def build_criteria(search: Search, objective: Objective, *, budget_usd: float | None = None) -> Criteria:
    """Take the required confidence and the tolerance of a search; an adaptive one learns from settings."""
    return Criteria(
        objective=objective,
        confidence=search.confidence,
        tolerance=search.tolerance,
        learns=search.is_adaptive,
        budget_usd=budget_usd,
    )


def describe_objective(objective: Objective, aim: Aim | None) -> str:
    """Name the goal and its limits: `cheapest within 2 h and $5`, `fastest with accuracy 0.96`."""
    within = [f"{objective.deadline_hours:g} h"] if objective.deadline_hours is not None else []
    within += [f"${objective.budget_usd:g}"] if objective.budget_usd is not None else []
    words = [objective.goal, *([f"within {' and '.join(within)}"] if within else [])]
    if objective.quality is not None:
        words.append(f"with {aim.metric if aim else 'quality'} {objective.quality:g}")
    return " ".join(words)


def build_question(criteria: Criteria, aim: Aim | None, price: Price | Unpriced | None) -> str:
    """Name what a setting is asked: goal and limits, and its price where that counts.

    A setting that cannot win under one question may win under another.
    """
    asked = describe_objective(criteria.objective, aim)
    counts = criteria.weights[1] > 0 and isinstance(price, Price)
    return f"{asked} at ${price.usd_per_hour:.6g}/h" if counts and isinstance(price, Price) else asked


def compute_loss(quality: float | None, aim: Aim | None) -> float | None:
    """Turn a quality so that less is better; None where it or its direction is not known."""
    if aim is None or quality is None or not math.isfinite(quality):
        return None
    return -quality if aim.higher_is_better else quality
