"""Command `next`: run what the answer of a sweep proposes, from the plan that is stored in its folder."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from orchestrator.analysis.next_steps import describe_exhausted_caps, list_steps
from orchestrator.analysis.recommendation.answer.answer import NextStep
from orchestrator.commands import sweep
from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.shared_flags import SHARED_FLAGS
from orchestrator.commands.catalogue.sweeps import PRINT
from orchestrator.commands.command_line import DONE, CommandLine, parse
from orchestrator.commands.json_output import print_document, progress_screen, wants_json
from orchestrator.commands.stored_words import list_stored_words
from orchestrator.commands.sweep_commands import end, run_line
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.core.printable import PROGRAM
from orchestrator.core.trial_spec import point_id
from orchestrator.pipeline.report import SweepReport
from orchestrator.terminal.screen import Screen


def next_step(line: CommandLine, screen: Screen) -> int:
    """Run the first step that the sweep's report proposes, or print its command."""
    with parsed_arguments(list_stored_words(line.overrides)) as words:
        settings = sweep.load_settings(words)
        with progress_screen(line, screen) as progress:
            found = sweep.report(settings, console=progress.console)
        if exhausted := describe_exhausted_caps(found.findings):
            raise ConfigError(exhausted)
        step = next((step for step in list_steps(found.findings) if step.command), None)
        if step is None or PRINT.name in line.flags:
            return _show(step, settings.sweep.name, line, screen)
        with progress_screen(line, screen) as progress:
            progress.line(f"next: {step.why}")
            if not step.is_here:
                progress.line(f"there, run: {step.command}")
        if not step.is_here:
            raise ConfigError("the device of the next measurement is not here: rent it, then type that there")
        outcomes = [_run(words_of_step, line, screen) for words_of_step in _split_commands(step.command)]
        # if the plan asks for these settings too, its report has the new repeats
        points = {point_id(one.trial) for one in found.findings.plan.asked}
        if all(point_id(one.trial) in points for outcome in outcomes for one in outcome.findings.plan.asked):
            with progress_screen(line, screen) as progress:
                whole = sweep.report(settings, console=progress.console)
            remarks = (*whole.remarks, *outcomes[-1].remarks)  # what the budget has left
            return end(replace(whole, remarks=remarks), line, screen)
    return end(outcomes[-1], line, screen)


def _show(step: NextStep | None, name: str, line: CommandLine, screen: Screen) -> int:
    """Print the command of a step, or that there is none, and run nothing."""
    if wants_json(line):
        print_document(codec.to_nulls({"sweep": name, "next_step": step}))
    elif step is None:
        screen.line(f"{name}: no measurement is known to help; `report` has the answer")
    else:
        screen.line(step.command)
    return DONE


def _split_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of commands that `&&` joins, without the program."""
    for is_joint, words in groupby(shlex.split(text), key=lambda word: word == "&&"):
        if not is_joint:
            yield list(words)[len(shlex.split(PROGRAM)) :]


def _run(words: Sequence[str], line: CommandLine, screen: Screen) -> SweepReport:
    """Run a command with the flags that were typed, but print no report."""
    step = parse(words, list_commands(), shared=SHARED_FLAGS)
    with parsed_arguments(step.overrides) as rest:
        flags = {**line.flags, **step.flags}
        return run_line(replace(step, overrides=tuple(rest), flags=flags), screen)
