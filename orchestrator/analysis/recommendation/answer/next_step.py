"""(state of an answer, settings) -> what would settle it, at what price, with which command. Pure."""

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from statistics import median

from orchestrator.analysis.formatting import counted, first_names
from orchestrator.analysis.recommendation.answer.answer import ExcludedSetting, NextStep, NextTrial
from orchestrator.analysis.recommendation.answer.exclusion import EQUAL_SAMPLES
from orchestrator.analysis.recommendation.answer.judgement import Judgement
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.price import Price, find_regions, rented
from orchestrator.core.printable import command_text
from orchestrator.plan.cache import OWN_DOING

_ENOUGH_RUNS = 5
_ITSELF = ("it", "it there", "this point", "the whole training")
"""Names of a measurement that an excluded setting needs, if it is the setting itself."""

_AGAIN = "measure again on a quiet host"
_SECONDS_PER_HOUR = 3600
_COUNTING = "trainer=torch_ddp"  # whose steps `plan` counts


def command_for(
    candidates: Sequence[CandidateSetting], job: Job, *, more: Sequence[str], verb: str = ""
) -> str:
    """Write the command that runs these settings and no others; several joined by `&&` where one cannot.

    One command runs every combination of the values that it gives. It runs in the folder of the
    sweep, but with the sweep of one point: the sweep's own axes and additions may ask for other settings too.

    Args:
        more: words that all of them get.
        verb: `plan`; empty: the command that runs them.
    """
    values: dict[str, dict[str, None]] = {}
    for candidate in candidates:
        for word in candidate.words:
            key, _, value = word.partition("=")
            values.setdefault(key, {})[value] = None
    is_product = (
        math.prod(map(len, values.values())) == len({one.words for one in candidates})
        and all(len(one.words) == len(values) for one in candidates)
        and not any(len(texts) > 1 for key, texts in values.items() if key.startswith("script."))
    )
    if not is_product:
        return " && ".join(command_for([one], job, more=more, verb=verb) for one in candidates)
    words = [f"{key}={','.join(texts)}" for key, texts in values.items()]
    asked = ["+sweep=single", f"sweep.name={job.sweep}", *job.repeated_words, *words, *more]
    return command_text(asked, verb=verb)


def choose_next_step(
    view: Judgement,
    job: Job,
    trials: Sequence[NextTrial],
    *,
    besides_seconds: float | None,
    is_by_quality: bool,
) -> NextStep | None:
    """Choose what to do next; None: nothing needs to be done, or nothing is known to help."""
    state, chosen = view.decision.state, view.decision.chosen
    if state == "settled":
        return None
    if state == "none":
        failed = [one for one in job.candidates if one.failure_kinds]
        return (
            _after_failure(failed[0], job) if failed and not any(one.runs for one in job.candidates) else None
        )
    by_label = {one.label: one for one in job.candidates}
    if state == "tie":
        tied = [view.candidates[index] for index in view.decision.tied]
        return _more_runs(tied, job, of_seeds=is_by_quality)
    open_ = [one for one in view.excluded if one.may_be_best]
    open_settings = [by_label[one.setting] for one in open_]
    if unfinished := [one for one in open_settings if one.num_failed]:
        return _after_failure(unfinished[0], job)
    if missing := [one for one in open_settings if one.num_missing]:
        names = first_names([one.label for one in missing], separator="; ")
        return NextStep(
            why=f"run the rest of the sweep with the command that began it: {names}",
            command=_command_of_sweep(job),
        )
    in_doubt = {*(one.setting for one in open_), *(one.setting for one in trials[:1])}
    if counting := _count_memory(job, in_doubt):
        return counting
    if trials:
        return _measure(trials, by_label[trials[0].setting], is_without_setup=besides_seconds is None)
    if unclear := [by_label[one.setting] for one in open_ if _is_unclear(one, by_label[one.setting])]:
        return _more_runs(unclear, job, of_seeds=False, why=_AGAIN, replaces_unclear=True)
    if not open_ and chosen is not None:
        again = [view.candidates[chosen]]
        return _more_runs(again, job, of_seeds=is_by_quality, why="measure more repeats of it")
    for one in open_:
        to_do = f"measure {one.to_measure}" if one.to_measure else "give it a price"
        if one.to_measure not in _ITSELF:
            return NextStep(why=f"{to_do} ({one.setting})", is_here=False)
        itself = by_label[one.setting]
        where = "; a machine without its device only rehearses it" if itself.is_rented else ""
        command = command_for([itself], job, more=[])
        return NextStep(why=f"{to_do} ({one.setting}){where}", command=command, is_here=False)
    return None


def _is_unclear(excluded: ExcludedSetting, candidate: CandidateSetting) -> bool:
    """Return whether more repeats would let a setting be judged."""
    return candidate.has_unclear_runs and excluded.to_measure != EQUAL_SAMPLES


def _count_memory(job: Job, labels: Set[str]) -> NextStep | None:
    """Build the step that counts the tensors of settings, on no rented machine; None: of none it can."""
    doubted = [one for one in job.candidates if one.doubt == "not counted" and one.label in labels]
    if not doubted:
        return None
    asked = [
        replace(one, words=(*(word for word in one.words if not word.startswith("trainer")), _COUNTING))
        for one in doubted
    ]
    more = f" and {counted(len(doubted) - 1, 'more setting')}" if len(doubted) > 1 else ""
    return NextStep(
        why=f"count the memory of {doubted[0].label}{more}, here and at no price",
        command=command_for(asked, job, more=[], verb="plan"),
    )


def _measure(trials: Sequence[NextTrial], candidate: CandidateSetting, *, is_without_setup: bool) -> NextStep:
    """Build the step that runs the first of these trials here, or on a machine that is rented for it."""
    trial, is_here, price = trials[0], candidate.num_missing > 0, candidate.price
    machine = f"{rented(price)} in {find_regions(price)}" if isinstance(price, Price) else "a machine"
    rent = f"rent {machine} for {trial.setting} and run it"
    is_likeliest = trial.chance >= max(one.chance for one in trials)
    why = "" if is_likeliest else ", which tells most for its price"
    return NextStep(
        why=f"{f'measure {trial.setting}' if is_here else rent}{why}",
        command=trial.command,
        is_here=is_here,
        usd=trial.usd,
        hours=trial.hours,
        price_marks=trial.price_marks,
        is_without_setup=is_without_setup,
        start=_describe_start([candidate]),
    )


def _describe_start(candidates: Sequence[CandidateSetting]) -> str:
    return describe_start(one.price for one in candidates if one.is_rented)


def _command_of_sweep(job: Job, *flags: str) -> str:
    return command_text([*(job.words or (f"+sweep={job.sweep}",)), *flags])


def _after_failure(failed: CandidateSetting, job: Job) -> NextStep:
    """Show what lets a failed trial succeed: the same command does not repeat one that would fail again."""
    kinds = ", ".join(sorted(failed.failure_kinds))
    if smaller := _half_batch(failed) if "oom" in failed.failure_kinds else None:
        return NextStep(
            why=f"measure {failed.label}, which ran out of memory, with half of its batch",
            command=command_for([smaller], job, more=[]),
        )
    if failed.failure_kinds == {"budget"}:
        return NextStep(why=f"raise the cap that stopped {failed.label}: the table of failures names it")
    if failed.failure_kinds & set(OWN_DOING):
        return NextStep(
            why=f"mend what made {failed.label} fail ({kinds}; the report has its log), and run it again",
            command=_command_of_sweep(job, "--rerun-failed"),
        )
    return NextStep(why=f"run {failed.label} again, which failed ({kinds})", command=_command_of_sweep(job))


def _half_batch(setting: CandidateSetting) -> CandidateSetting | None:
    """Return the setting with half of its batch, or micro batch; None where that does not divide."""
    given = dict(word.split("=", 1) for word in setting.words)
    key = "micro_batch_size" if "micro_batch_size" in given else "global_batch_size"
    half, odd = divmod(int(given[key]), 2)
    if odd or (key == "global_batch_size" and half % int(given.get("num_workers", "1"))):
        return None
    words = {**given, key: str(half)}
    return replace(setting, words=tuple(f"{key}={value}" for key, value in words.items()))


def _more_runs(
    candidates: Sequence[CandidateSetting],
    job: Job,
    *,
    of_seeds: bool,
    why: str = "",
    replaces_unclear: bool = False,
) -> NextStep:
    """Ask for twice as many runs as there are, five at least, with time and cost of the missing ones.

    Args:
        of_seeds: request more seeds, because repeats of one seed reach the same quality.
        replaces_unclear: ask for one more in place of each unclear run alone.
    """
    seeds = sorted({run.seed for one in candidates for run in one.runs})
    if of_seeds:
        count = max(_ENOUGH_RUNS, 2 * len(seeds))
        seeds += [seed for seed in range(count + len(seeds)) if seed not in seeds][: count - len(seeds)]
        repeats, amount = 1, f"{counted(len(seeds), 'seed')}"
    else:
        most = max(len(one.runs) for one in candidates)
        unclear = max(len(one.runs) - len(one.quiet) for one in candidates)
        wanted = most + unclear if replaces_unclear else max(_ENOUGH_RUNS, 2 * most)
        repeats = math.ceil(wanted / len(seeds))
        amount = counted(repeats, "repeat")
    seed_word = f"seed={','.join(map(str, seeds))}"
    missing = [(one, _num_missing(one, seeds, repeats=repeats)) for one in candidates]
    seconds = {one.label: median(run.trial_seconds for run in one.runs) for one in candidates}
    usd = math.fsum(count * one.billed_usd(seconds[one.label]) for one, count in missing)
    without_seed = [
        replace(one, words=tuple(word for word in one.words if not word.startswith("seed=")))
        for one in candidates
    ]
    return NextStep(
        why=why or f"measure {amount} of the tied settings",
        command=command_for(without_seed, job, more=[seed_word, f"sweep.repeats={repeats}"]),
        usd=None if math.isnan(usd) else usd,
        hours=math.fsum(count * seconds[one.label] for one, count in missing) / _SECONDS_PER_HOUR,
        price_marks=", ".join(dict.fromkeys(filter(None, (one.price_marks for one in candidates)))),
        start=_describe_start(candidates),
    )


def _num_missing(candidate: CandidateSetting, seeds: Sequence[int], *, repeats: int) -> int:
    """Count the runs that a setting lacks of that many repeats of every seed."""
    runs = Counter(run.seed for run in candidate.runs)
    return sum(max(0, repeats - runs[seed]) for seed in seeds)
