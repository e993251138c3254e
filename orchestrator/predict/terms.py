"""What a winner has to be, how sure that has to be, and what finding it may cost."""

from dataclasses import dataclass

from orchestrator.core.errors import ConfigError
from orchestrator.core.price import PriceList
from orchestrator.core.wish import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is asked for.

    Attributes:
        confidence: from which on the winner is clear.
        budget_usd: the most that all measurements may cost; None: no cap.
    """

    wish: Wish
    confidence: float
    budget_usd: float | None

    @property
    def weights(self) -> tuple[float, float]:
        """Exponents of time and cost in what is to be least; together 1, as they are in any unit."""
        time, cost = self._asked
        return time / (time + cost), cost / (time + cost)

    @property
    def needs_prices(self) -> bool:
        """Whether a setting without a price cannot be judged."""
        return self._asked[1] > 0 or (self.wish.budget_usd, self.budget_usd) != (None, None)

    def check(self, prices: PriceList) -> None:
        """Raises ConfigError for what no prediction can answer."""
        if self.wish.goal == "best" or self.wish.quality is not None:
            raise ConfigError(
                "no quality is predicted: report.goal is fastest, cheapest or balanced, report.quality null"
            )
        if not any(self._asked):
            raise ConfigError(
                "report.weight_time and report.weight_cost are both 0, and quality is not known"
            )
        if self.needs_prices and not prices.rows:
            caps = {"budget.usd": self.budget_usd, "report.budget_usd": self.wish.budget_usd}
            asked = [name for name, cap in caps.items() if cap is not None]
            what = asked[0] if asked else f"report.goal={self.wish.goal}"
            raise ConfigError(f"{what} needs prices, and prices={prices.name} has none")

    @property
    def _asked(self) -> tuple[float, float]:
        """Weights of time and cost."""
        weighted = (self.wish.weight_time, self.wish.weight_cost)
        return {"fastest": (1.0, 0.0), "cheapest": (0.0, 1.0)}.get(self.wish.goal, weighted)
