"""What to measure next, as plain tables, a sentence, and for programs."""

from collections.abc import Iterator
from typing import Any

from orchestrator.analysis.noise import NOISY
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import (
    UNKNOWN,
    Number,
    Spread,
    counted,
    counted_marks,
    number,
    share,
    spread,
)
from orchestrator.core import codec
from orchestrator.predict.job_advice import JobAdvice, Standing

_MS = 1000
_MOST_ROWS = 20  # of settings: the others are hardly ever the one
_SURE = 0.995
_STANDINGS = (
    "Chance: that a setting keeps to the limits and lies within 5% of the best, in draws of what is thought. "
    "Brackets are to hold 90 of 100 measurements. Dollars are of the steps alone."
)
_ERRANDS = (
    "In this order; ask again after each. Costs are predicted, of one trial each. Gain: how much likelier "
    "right the winner then is expected to be, also for what it tells of others, or with the one that it is "
    "compared to. Then: the winner's chance if all up to here come out as predicted."
)

_LIMITED = "Hours and dollars are at most: a target ends a training, maybe before all of its steps."


def tables_of(advice: JobAdvice) -> Iterator[Table]:
    """Who leads, what to measure, and what cannot be judged; none of them is empty."""
    if advice.standings:
        yield _standings_table(advice)
    if advice.errands:
        yield _errands_table(advice)
    if advice.left_out:
        yield _left_out_table(advice)


def sentence_of(advice: JobAdvice) -> str:
    """Who leads, how sure that is, and what to do."""
    asked, winner = f"{advice.job} ({advice.asked})", advice.winner
    if winner is None:
        return f"No setting of {asked} can be judged: what each lacks is listed."
    if not winner.chance:
        return f"On {asked}: nothing that can be judged is thought to keep to the limits."
    among = ", of what can be judged" if advice.left_out else ""
    found = f"On {asked}{among}: {winner.setting}, {_known_by(winner)},"
    if advice.is_clear:
        return _clear(advice, found, winner)
    leads = f"{found} leads with a chance of {_chance(winner.chance)}, below {share(advice.confidence)}"
    if not advice.errands:
        within = f"within budget.usd={advice.budget_usd:g} " if advice.budget_usd is not None else ""
        if any(each.provenance == "measured" for each in advice.standings):
            return f"{leads}: no setting that was not measured {within}would tell much more, repeats may."
        return f"{leads}, and no trial {within}would tell much more."
    return f"{leads}: measure {counted(len(advice.errands), 'trial')}, {_cost_of(advice)}."


def _clear(advice: JobAdvice, found: str, winner: Standing) -> str:
    clear = f"{found} is clear with a chance of {_chance(winner.chance)}"
    if not advice.left_out:
        return f"{clear}: nothing needs to be measured."
    others = f"{counted(len(advice.left_out), 'other')} may be better: what each lacks is listed."
    if len(advice.standings) == 1:
        return f"{found} is the only one, and {others}"
    return f"{clear}, but {others}"


def plain_of(advice: JobAdvice) -> dict[str, Any]:
    """For programs."""
    winner = advice.winner.setting if advice.winner else None
    return {**codec.to_plain(advice), "winner": winner, "is_clear": advice.is_clear}


def _cost_of(advice: JobAdvice) -> str:
    hours = sum(each.hours for each in advice.errands)
    usd = [each.usd for each in advice.errands if each.usd is not None]
    marks = ", ".join(dict.fromkeys(each.price_marks for each in advice.errands if each.price_marks))
    dollars = f"${_dollars(sum(usd), marks)} and " if len(usd) == len(advice.errands) else ""
    setup = (
        "" if advice.besides_seconds is not None else "; set-up comes on top, for no own record tells of it"
    )
    return f"{'at most' if advice.is_limit else 'likely'} {dollars}{number(hours)} hours{setup}"


def _standings_table(advice: JobAdvice) -> Table:
    left = len(advice.standings) - _MOST_ROWS
    return Table(
        title=f"{advice.job}: {advice.asked}",
        note=" ".join(
            (
                _STANDINGS,
                *([f"{left:,} less likely ones are not shown."] if left > 0 else []),
                *([f"Noisy: {NOISY}."] if any(each.num_noisy for each in advice.standings) else []),
            )
        ),
        columns=(
            Column(header="setting"),
            Column(header="known by"),
            Column(header="step ms [90%]", is_number=True),
            Column(header="$/M samples", is_number=True),
            Column(header="chance", is_number=True),
        ),
        rows=tuple(
            (
                each.setting,
                _known_by(each),
                spread(Spread(median=each.likely, low=each.low, high=each.high), factor=_MS),
                _dollars(each.usd_per_million_samples, each.price_marks),
                _chance(each.chance),
            )
            for each in advice.standings[:_MOST_ROWS]
        ),
    )


def _errands_table(advice: JobAdvice) -> Table:
    return Table(
        title="Measure next",
        note=f"{_ERRANDS} {_LIMITED}" if advice.is_limit else _ERRANDS,
        columns=(
            Column(header="setting"),
            *(Column(header=each, is_number=True) for each in ("hours", "$", "chance", "gain", "then")),
        ),
        rows=tuple(
            (
                each.setting,
                number(each.hours),
                _dollars(each.usd, each.price_marks),
                _chance(each.chance),
                f"+{share(each.gain, decimals=1)}",
                _chance(each.chance_then),
            )
            for each in advice.errands
        ),
    )


def _left_out_table(advice: JobAdvice) -> Table:
    return Table(
        title="Not judged",
        note="Each of these may still be the best.",
        columns=tuple(Column(header=each) for each in ("setting", "why", "measure")),
        rows=tuple((each.setting, each.reason, each.to_measure) for each in advice.left_out),
    )


def _known_by(standing: Standing) -> str:
    """`predicted`, `measured, 1 noisy`."""
    return f"{standing.provenance}{counted_marks(num_noisy=standing.num_noisy, num_resumed=0)}"


def _dollars(value: float | None, marks: str) -> str:
    """`0.0123 hypothetical`."""
    return UNKNOWN if value is None else Number(f"{number(value)} {marks}".rstrip(), value)


def _chance(value: float) -> Number:
    """Draws never make one certain."""
    return Number(">99%", value) if value > _SURE else share(value)
