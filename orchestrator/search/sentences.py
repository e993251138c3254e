"""Progress of a search in sentences: before it starts, while it runs, and at its end. Pure."""

from collections.abc import Iterator

from orchestrator.analysis.formatting import counted, number
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.core.search import JobProgress, SearchProgress
from orchestrator.search.outlook import Outlook

_MINUTE, _HOUR = 60.0, 3600.0


def outlook_sentence(outlook: Outlook) -> str:
    """Describe how many trials a search likely needs, against one trial of every setting."""
    trials = counted(outlook.num_trials, "further trial")
    most = "at least " if outlook.is_least else "about "
    expected = f"{outlook.job}: {most}{trials}{_priced(outlook.seconds, outlook.usd)}"
    grid = _priced(outlook.grid_seconds, outlook.grid_usd)
    untried = counted(outlook.num_untried, "setting")
    against = f"; one trial of each of the {untried} that have none{grid}" if grid else ""
    whole = against or f" for {counted(outlook.num_settings, 'setting')}"
    return f"{expected}{whole}{f' ({outlook.why_unknown})' if outlook.why_unknown else ''}."


def step_sentences(progress: SearchProgress) -> Iterator[str]:
    """Describe what leads in every job, what is next, and why."""
    for one in progress.jobs:
        known = "" if one.is_measured else ", only predicted"
        leads = f"{one.leader} leads with {chance(one.chance)}{known}; " if one.leader else ""
        what = f"next: {one.next_setting}, {one.why}" if one.next_setting else one.why
        yield f"{one.job}: {leads}{what}"


def end_sentence(one: JobProgress, *, winner: str, goal: str) -> str:
    """Describe what was measured, for what price, and which setting the report takes.

    Args:
        winner: setting that the report takes; empty: none.
    """
    spent = _priced(one.seconds, one.usd).removeprefix(",").strip()
    grid = _priced(one.grid_seconds, one.grid_usd).removeprefix(",").strip()
    of_grid = f" of {grid} for one trial of each" if grid else ""
    counts = f"{one.num_measured:,} of {counted(one.num_settings, 'setting')} measured"
    found = (
        f"{winner} is the choice ({goal}); its chance to be good is {chance(one.chance)}"
        if winner
        else "none is recommended"
    )
    pruned = f", {one.num_pruned:,} more pruned" if one.num_pruned else ""
    return (
        f"{one.job}: {counts} in {counted(one.num_trials, 'trial')}{pruned} ({spent}{of_grid}); {found}. "
        f"Stopped: {one.why}."
    )


def _priced(seconds: float | None, usd: float | None) -> str:
    """`, 12 min, $3.100`."""
    parts = [] if seconds is None else [_duration(seconds)]
    parts += [] if usd is None else [f"${number(usd)}"]
    return f", {', '.join(parts)}" if parts else ""


def _duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"
