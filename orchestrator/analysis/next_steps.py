"""(findings of a sweep) -> what to do next, and the command that a person types for it. Pure."""

from collections.abc import Iterator

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.answer import NextStep
from orchestrator.core.placement import Plan
from orchestrator.core.printable import command_text


def list_steps(findings: Findings) -> tuple[NextStep, ...]:
    """List what to do next: the trials that are not run yet first, then what would settle each answer."""
    plan = findings.plan
    left = counted(findings.num_missing, "trial")
    if exhausted := describe_exhausted_caps(findings):
        return (NextStep(why=exhausted),)
    if not findings.records:
        first = NextStep(why="nothing is recorded yet; run the sweep", command=plan.command)
        return (first,) if findings.num_missing else ()
    is_open = findings.num_missing and not plan.search.is_adaptive
    done = {record.trial_id for record in findings.records}
    waiting = [one.provenance for one in plan.placements if one.trial_id not in done]
    if rehearsed := waiting.count("rehearsed"):
        left = f"{left}, {rehearsed:,} of which only rehearse, without their devices"
    rest = [NextStep(why=f"run what is left, {left}", command=plan.command)] if is_open else []
    proposed = [answer.next_step for answer in findings.recommendations if answer.next_step]
    return (*rest, *(step for step in proposed if not rest or step.command != plan.command))


def describe_exhausted_caps(findings: Findings) -> str:
    """Describe the caps that leave out every trial that is left, and so all that a command would add.

    Returns:
        Empty: there is no such cap.
    """
    plan, done = findings.plan, {record.trial_id for record in findings.records}
    waiting = [one for one in plan.placements if one.trial_id not in done]
    if not plan.over_budget or len(plan.over_budget) < len(waiting):
        return ""
    caps = " and ".join(dict.fromkeys(plan.over_budget))
    return f"raise {caps}, which leaves out {counted(findings.num_missing, 'trial')}"


def short_command(step: NextStep, findings: Findings) -> str:
    """Return the command of a step: `next` for the step that it runs, where something is recorded."""
    first = next((one for one in list_steps(findings) if one.command), None)
    if step != first or not findings.records:
        return step.command
    return command_text(_words_of_folder(findings.plan), verb="next")


def _words_of_folder(plan: Plan) -> Iterator[str]:
    """Yield the words with the folder of the plan."""
    yield f"+sweep={plan.sweep}"
    yield from (word for word in plan.repeated_words if word.startswith(("outputs=", "hydra.")))
