"""Commands `predict`: times and costs on devices that are not here."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from orchestrator.analysis.formatting import list_inputs
from orchestrator.analysis.recommendation.answer.summary import (
    describe_next,
    describe_verdict,
    noise_banner,
)
from orchestrator.analysis.recommendation.tables import build_tables, convert_to_plain
from orchestrator.commands.command_line import DONE, CommandLine
from orchestrator.commands.json_output import print_document, wants_json
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.extensions.predictions.advise import recommend_settings
from orchestrator.extensions.predictions.breakdown_table import (
    breakdown_sentence,
    breakdown_table,
    calibration_table,
)
from orchestrator.extensions.predictions.catalogue import CONFIDENCE, SORT
from orchestrator.extensions.predictions.documents import predictions_document
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.extensions.predictions.prediction_table import (
    Order,
    describe_basis,
    input_lines,
    job_lines,
    note_lines,
    ordered,
    prediction_table,
    start_line,
)
from orchestrator.terminal.screen import Screen

_DESCRIBING = "predicting; a model of billions of weights takes minutes to describe"
_OF_ADVICE = ("report.goal", "report.deadline_hours", "report.budget_usd", "report.quality")
_MOST_TRIALS = 3  # to measure next, of each job; --json has all


def predict(line: CommandLine, screen: Screen) -> int:
    """Print predictions of points."""
    order, rest = split_order(line.overrides)
    with screen.waiting(_DESCRIBING):
        predictions = ordered(predict_points(rest, working_directory=Path.cwd()), order)
    if wants_json(line):
        print_document(predictions_document(predictions))
        return DONE
    for sentence in (*job_lines(predictions), *_describe_ignored(rest), *input_lines(predictions)):
        screen.line(sentence)
    screen.table(prediction_table(predictions))
    for sentence in note_lines(predictions):
        screen.line(sentence)
    return DONE


def _describe_ignored(words: Sequence[str]) -> list[str]:
    """Describe goals and limits among the words, which decide nothing in a table."""
    given = {word.lstrip("+").partition("=")[0] for word in words}
    ignored = [key for key in _OF_ADVICE if key in given]
    return [f"{' and '.join(ignored)}: not regarded here, but by `predict advise`."] if ignored else []


def explain(line: CommandLine, screen: Screen) -> int:
    """Print the parts of the steps of points."""
    order, rest = split_order(line.overrides)
    with screen.waiting(_DESCRIBING):
        predictions = ordered(predict_points(rest, working_directory=Path.cwd()), order)
    if wants_json(line):
        print_document(predictions_document(predictions))
        return DONE
    for sentence in input_lines(predictions):
        screen.line(sentence)
    for prediction in predictions:
        screen.line(breakdown_sentence(prediction))
        screen.line(describe_basis(prediction))
        if prediction.breakdown is not None:
            screen.table(
                breakdown_table(prediction, prediction.breakdown, has_bars=screen.console.is_terminal)
            )
    if start := start_line(predictions):
        screen.line(start)
    return DONE


def split_order(words: Sequence[str]) -> tuple[Order | None, list[str]]:
    """Return the value of the last `predict.sort=…`, and the other words."""
    given = [word.removeprefix(SORT) for word in words if word.startswith(SORT)]
    rest = [word for word in words if not word.startswith(SORT)]
    orders: dict[str, Order] = {order: order for order in get_args(Order)}
    if given and given[-1] not in orders:
        raise UnknownNameError("value of predict.sort:", given[-1], known=orders)
    return (orders[given[-1]] if given else None), rest


def advise(line: CommandLine, screen: Screen) -> int:
    """Print which setting to use, and what to measure next."""
    given = [word for word in line.overrides if word.startswith(CONFIDENCE)]
    rest = [word for word in line.overrides if word not in given]
    confidence = _read_confidence(given)
    with screen.waiting(_DESCRIBING):
        recommendations = recommend_settings(rest, confidence=confidence, working_directory=Path.cwd())
    if wants_json(line):
        print_document([convert_to_plain(recommendation) for recommendation in recommendations])
        return DONE
    inputs = list_inputs((one.job, one.input) for one in recommendations)
    for sentence in (*map(describe_verdict, recommendations), noise_banner(recommendations), *inputs):
        if sentence:
            screen.line(sentence)
    # the table advises to ask again after each of its trials
    for table in build_tables([replace(one, errands=one.errands[:_MOST_TRIALS]) for one in recommendations]):
        screen.table(table)
    for sentence in filter(None, map(describe_next, recommendations)):
        screen.line(sentence)
    return DONE


def _read_confidence(words: Sequence[str]) -> float | None:
    """Return the value of the last `confidence=0.9` argument; None: that of `search.confidence`."""
    if not words:
        return None
    text = words[-1].removeprefix(CONFIDENCE)
    try:
        confidence = float(text)
    except ValueError:
        confidence = math.nan
    if not 0 < confidence < 1:
        raise ConfigError(f"predict advise: confidence={text} must be a number between 0 and 1")
    return confidence


def calibrate(line: CommandLine, screen: Screen) -> int:
    """Measure a device of this host, and keep the result for later predictions."""
    from orchestrator.extensions.predictions.calibrate import calibrate

    device, calibration, path = calibrate(line.overrides, working_directory=Path.cwd())
    if wants_json(line):
        print_document(codec.to_plain(calibration))
        return DONE
    screen.table(calibration_table(device, calibration.benchmark))
    if calibration.load_average > 1:
        screen.line(
            f"The host was busy (load average {calibration.load_average:.1f}): times of launches may be too "
            "long. Repeat it on a quiet host."
        )
    name = f"{calibration.host_cpu} alone" if device.kind == "cpu" else device.name
    screen.line(f"kept in {path}; `predict`, `predict advise` and searches use it for {name}")
    return DONE
