"""What makes a setting the best of its job, and how sure that has to be. Pure."""

import math
from dataclasses import dataclass

from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import Wish
from orchestrator.core.placement import Aim
from orchestrator.core.price import PriceList

CONFIDENCE = 0.95
"""Chance of a setting to be good from which on the answer is settled, where nobody asks for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """The goal, its limits, and the confidence that is asked for.

    Attributes:
        confidence: chance from which on an answer is settled.
        budget_usd: the most that all further measurements may cost; None: no cap.
    """

    wish: Wish
    confidence: float = CONFIDENCE
    budget_usd: float | None = None

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of time, cost and quality; their sum is 1."""
        wish = self.wish
        weights = {
            "fastest": (1.0, 0.0, 0.0),
            "cheapest": (0.0, 1.0, 0.0),
            "best": (0.0, 0.0, 1.0),
            "balanced": (wish.weight_time, wish.weight_cost, wish.weight_quality),
        }[wish.goal]
        time, cost, quality = (weight / math.fsum(weights) for weight in weights)
        return time, cost, quality

    @property
    def needs_prices(self) -> bool:
        """Whether a setting without a price cannot be judged."""
        return self.weights[1] > 0 or (self.wish.budget_usd, self.budget_usd) != (None, None)

    @property
    def needs_quality(self) -> bool:
        """Whether a setting without a quality cannot be judged."""
        return self.weights[2] == 1 or self.wish.quality is not None

    def check(self, prices: PriceList) -> None:
        """Refuse what needs prices where there are none. Raises ConfigError."""
        if self.needs_prices and not prices.rows:
            caps = {"budget.usd": self.budget_usd, "report.budget_usd": self.wish.budget_usd}
            asked = [name for name, cap in caps.items() if cap is not None]
            what = asked[0] if asked else f"report.goal={self.wish.goal}"
            raise ConfigError(f"{what} needs prices, and prices={prices.name} has none")


def wish_in_words(wish: Wish, aim: Aim | None) -> str:
    """Name the goal and its limits: `cheapest within 2 h and $5`, `fastest with accuracy 0.96`."""
    within = [f"{wish.deadline_hours:g} h"] if wish.deadline_hours is not None else []
    within += [f"${wish.budget_usd:g}"] if wish.budget_usd is not None else []
    words = [wish.goal, *([f"within {' and '.join(within)}"] if within else [])]
    if wish.quality is not None:
        words.append(f"with {aim.metric if aim else 'quality'} {wish.quality:g}")
    return " ".join(words)


def loss_of(quality: float | None, aim: Aim | None) -> float | None:
    """Turn a quality so that less is better; None where it or its direction is not known."""
    if aim is None or quality is None or not math.isfinite(quality):
        return None
    return -quality if aim.higher_is_better else quality
