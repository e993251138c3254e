"""The verb `predict`: times on devices that are not here, and how well such predictions do."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from orchestrator.analysis.recommendation.model.criteria import CONFIDENCE
from orchestrator.analysis.table import Table
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError

NAME = "predict"
_JSON = "--json"
_CONFIDENCE = "confidence="
_POSSIBLE = (
    f"possible are `{NAME} workload=NAME device=NAME`, `{NAME} advise +sweep=NAME [{_JSON}]`, "
    f"`{NAME} split +sweep=NAME [{_JSON}]`, `{NAME} transfer data=PATH`, "
    f"`{NAME} evaluate data=PATH [{_JSON}]`, `{NAME} fit data=PATH` and `{NAME} condense data=PATH`"
)

Say = Callable[[str], None]
Show = Callable[[Table], None]


def run_command(words: Sequence[str], *, say: Say, show: Show, note: Say) -> int:
    """Carry the verb out; the exit code is 0.

    Args:
        note: told how far it is, where a program that reads the answer does not look.

    Raises:
        ConfigError: words that cannot be understood, or data that cannot be read.
    """
    flags = [word for word in words if word.startswith("-")]
    plain = [word for word in words if word not in flags and "=" not in word]
    overrides = [word for word in words if word not in (*flags, *plain)]
    match [word for word in plain if word != NAME]:
        case []:
            _refuse(flags)
            return _predict(overrides, show=show)
        case ["advise"]:
            _refuse(set(flags) - {_JSON})
            return _advise(overrides, as_json=_JSON in flags, say=say, show=show)
        case ["split"]:
            _refuse(set(flags) - {_JSON})
            return _split(overrides, as_json=_JSON in flags, say=say, show=show)
        case ["evaluate"]:
            _refuse(set(flags) - {_JSON})
            return _evaluate(_data_of(overrides), as_json=_JSON in flags, say=say, show=show, note=note)
        case ["transfer"]:
            _refuse(flags)
            return _transfer(_data_of(overrides), show=show)
        case ["fit"]:
            _refuse(flags)
            return _fit(_data_of(overrides))
        case ["condense"]:
            _refuse(flags)
            return _condense(_data_of(overrides))
        case [other, *_]:
            raise ConfigError(f"{NAME}: {other!r} is not known; {_POSSIBLE}")
    raise AssertionError  # a list is one of these


def _refuse(flags: Iterable[str]) -> None:
    for flag in flags:
        raise ConfigError(f"{NAME}: {flag!r} is not known; {_POSSIBLE}")


def _data_of(overrides: Sequence[str]) -> Path:
    match [word.partition("=") for word in overrides]:
        case [("data", _, path)] if path:
            return Path(path)
    raise ConfigError(f"{NAME}: exactly one word is needed, data=PATH; {_POSSIBLE}")


# scikit-learn takes a second to import, which no other verb has to wait for: hence imports in functions


def _predict(overrides: Sequence[str], *, show: Show) -> int:
    from orchestrator.pipeline.predictions import predicted
    from orchestrator.predict.prediction_table import prediction_table

    show(prediction_table(predicted(overrides, working_directory=Path.cwd())))
    return 0


def _advise(overrides: Sequence[str], *, as_json: bool, say: Say, show: Show) -> int:
    from orchestrator.analysis.recommendation.answer.summary import noise_banner, sentence_of
    from orchestrator.analysis.recommendation.tables import plain_of, tables_of
    from orchestrator.pipeline.predictions import advised

    told = [word for word in overrides if word.startswith(_CONFIDENCE)]
    rest = [word for word in overrides if word not in told]
    found = advised(rest, confidence=_confidence_of(told), working_directory=Path.cwd())
    if as_json:
        sys.stdout.write(json.dumps([plain_of(row) for row in found], indent=1) + "\n")
        return 0
    for table in tables_of(found):
        show(table)
    if noise := noise_banner(found):
        say(noise)
    for recommendation in found:
        say(sentence_of(recommendation))
    return 0


def _split(overrides: Sequence[str], *, as_json: bool, say: Say, show: Show) -> int:
    from orchestrator.pipeline.predictions import split
    from orchestrator.predict.kernel_split_table import plain_of, split_outlook_table, split_sentence

    found = split(overrides, working_directory=Path.cwd())
    if as_json:
        sys.stdout.write(json.dumps(plain_of(found), indent=1) + "\n")
        return 0
    show(split_outlook_table(found))
    say(split_sentence(found))
    return 0


def _confidence_of(told: Sequence[str]) -> float:
    """Return the value of the last `confidence=0.9` argument."""
    if not told:
        return CONFIDENCE
    text = told[-1].removeprefix(_CONFIDENCE)
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < 1:
        raise ConfigError(f"{NAME} advise: confidence={text} must be a number between 0 and 1")
    return found


def _transfer(data: Path, *, show: Show) -> int:
    from orchestrator.predict.latency_data.read import read_latencies
    from orchestrator.predict.prediction_table import transfers_table
    from orchestrator.predict.profile_transfer.transfer import transferred
    from orchestrator.predict.step_time.bundled_models import default_profiles

    show(transfers_table(transferred(read_latencies(data), default_profiles())))
    return 0


def _condense(data: Path) -> int:
    from orchestrator.predict.latency_data.read import read_latencies
    from orchestrator.predict.step_time.bundled_models import condensed_profiles

    sys.stdout.write(condensed_profiles(read_latencies(data)))
    return 0


def _fit(data: Path) -> int:
    from orchestrator.config.cluster import load_cluster
    from orchestrator.predict.latency_data.read import read_latencies
    from orchestrator.predict.step_time.fit_bundled_models import fit_default_models

    _, catalogue = load_cluster((), working_directory=Path.cwd())
    models = fit_default_models(read_latencies(data), devices=catalogue.devices)
    sys.stdout.write(json.dumps(codec.to_plain(models), indent=1) + "\n")
    return 0


def _evaluate(data: Path, *, as_json: bool, say: Say, show: Show, note: Say) -> int:
    from orchestrator.predict.evaluation.evaluate import evaluate
    from orchestrator.predict.evaluation.tables import plain_of, sentences_of, tables_of
    from orchestrator.predict.latency_data.read import read_latencies

    found = evaluate(read_latencies(data), tell=note)
    if as_json:
        sys.stdout.write(json.dumps(plain_of(found), indent=1) + "\n")  # for programs: no width, no colour
        return 0
    for table in tables_of(found):
        show(table)
    for sentence in sentences_of(found):
        say(sentence)
    return 0
