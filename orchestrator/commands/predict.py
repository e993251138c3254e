"""Commands `predict`: times and costs on devices that are not here, and the accuracy of the predictions."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.commands.command_line import DONE, Command, CommandLine, Flag
from orchestrator.core.errors import ConfigError
from orchestrator.terminal.screen import Screen

_JSON = Flag(name="--json", summary="print JSON for programs")
_CONFIDENCE = "confidence="

# scikit-learn takes a second to import, and only these commands need it: hence imports in functions


def _predict(line: CommandLine, screen: Screen) -> int:
    from orchestrator.pipeline.predictions import predicted
    from orchestrator.predict.prediction_table import prediction_table

    screen.table(prediction_table(predicted(line.overrides, working_directory=Path.cwd())))
    return DONE


def _advise(line: CommandLine, screen: Screen) -> int:
    from orchestrator.analysis.recommendation.answer.summary import noise_banner, sentence_of
    from orchestrator.analysis.recommendation.tables import plain_of, tables_of
    from orchestrator.pipeline.predictions import advised

    given = [word for word in line.overrides if word.startswith(_CONFIDENCE)]
    rest = [word for word in line.overrides if word not in given]
    recommendations = advised(rest, confidence=_confidence_of(given), working_directory=Path.cwd())
    if _JSON.name in line.flags:
        return _print_json([plain_of(recommendation) for recommendation in recommendations])
    for table in tables_of(recommendations):
        screen.table(table)
    if noise := noise_banner(recommendations):
        screen.line(noise)
    for recommendation in recommendations:
        screen.line(sentence_of(recommendation))
    return DONE


def _confidence_of(words: Sequence[str]) -> float | None:
    """Return the value of the last `confidence=0.9` argument; None: that of `search.confidence`."""
    if not words:
        return None
    text = words[-1].removeprefix(_CONFIDENCE)
    try:
        confidence = float(text)
    except ValueError:
        confidence = math.nan
    if not 0 < confidence < 1:
        raise ConfigError(f"predict advise: confidence={text} must be a number between 0 and 1")
    return confidence


def _split(line: CommandLine, screen: Screen) -> int:
    from orchestrator.pipeline.predictions import split
    from orchestrator.predict.kernel_split_table import plain_of, split_outlook_table, split_sentence

    outlook = split(line.overrides, working_directory=Path.cwd())
    if _JSON.name in line.flags:
        return _print_json(plain_of(outlook))
    screen.table(split_outlook_table(outlook))
    screen.line(split_sentence(outlook))
    return DONE


def _transfer(line: CommandLine, screen: Screen) -> int:
    from orchestrator.predict.latency_data.read import read_latencies
    from orchestrator.predict.prediction_table import transfers_table
    from orchestrator.predict.profile_transfer.transfer import transferred
    from orchestrator.predict.step_time.bundled_models import default_profiles

    screen.table(transfers_table(transferred(read_latencies(_data_of(line)), default_profiles())))
    return DONE


def _evaluate(line: CommandLine, screen: Screen) -> int:
    from orchestrator.predict.evaluation.evaluate import evaluate
    from orchestrator.predict.evaluation.tables import plain_of, sentences_of, tables_of
    from orchestrator.predict.latency_data.read import read_latencies

    evaluation = evaluate(read_latencies(_data_of(line)), tell=screen.progress)
    if _JSON.name in line.flags:
        return _print_json(plain_of(evaluation))
    for table in tables_of(evaluation):
        screen.table(table)
    for sentence in sentences_of(evaluation):
        screen.line(sentence)
    return DONE


def _data_of(line: CommandLine) -> Path:
    match [word.partition("=") for word in line.overrides]:
        case [("data", _, path)] if path:
            return Path(path)
    raise ConfigError(f"{line.command} needs data=PATH and takes no other override")


def _print_json(value: object) -> int:
    sys.stdout.write(json.dumps(value, indent=1) + "\n")  # for programs: no width, no colour
    return DONE


TOOLS = {
    "predict fit": "python tools/fit_bundled_models.py DATA",
    "predict condense": "python tools/condense_profiles.py DATA",
}
"""Former command -> program that replaces it: it writes a data file of this repository."""

COMMANDS = (
    Command(
        name="predict",
        arguments="workload=vgg16 device=t4,v100",
        summary="Predict step time and cost of points, also on devices that are not here.",
        run=_predict,
    ),
    Command(
        name="predict advise",
        arguments="+sweep=NAME budget.usd=5 confidence=0.9",
        summary="Say which setting to use, how sure that is, and what to measure next.",
        flags=(_JSON,),
        run=_advise,
    ),
    Command(
        name="predict split",
        arguments="+sweep=NAME trainer=kernel_split",
        summary="Predict whether splitting convolutions over devices is faster.",
        flags=(_JSON,),
        run=_split,
    ),
    Command(
        name="predict transfer",
        arguments="data=PATH",
        summary="Predict latencies of networks on one GPU from profiles on another.",
        run=_transfer,
    ),
    Command(
        name="predict evaluate",
        arguments="data=PATH",
        summary="Measure how well latencies on one GPU predict those on another, on measured data.",
        flags=(_JSON,),
        run=_evaluate,
    ),
)
