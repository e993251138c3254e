"""The verb `predict`: how well methods of prediction do on a table of latencies."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.analysis.tables import Table
from orchestrator.core.errors import ConfigError

NAME = "predict"
_EVALUATE = "evaluate"
_DATA = "data"
_JSON = "--json"

Say = Callable[[str], None]
Show = Callable[[Table], None]


def answer(words: Sequence[str], *, say: Say, show: Show, note: Say) -> int:
    """Carry the verb out; the exit code is 0.

    Args:
        note: told how far it is, where a program that reads the answer does not look.

    Raises:
        ConfigError: words that cannot be understood, or data that cannot be read.
    """
    flags = [word for word in words if word.startswith("-")]
    keys = dict(word.split("=", 1) for word in words if "=" in word and word not in flags)
    verbs = [word for word in words if word not in flags and "=" not in word]
    unknown = [*({*flags} - {_JSON}), *({*keys} - {_DATA})]
    if verbs != [NAME, _EVALUATE] or unknown or not keys.get(_DATA):
        told = f"{unknown[0]!r} is not known; " if unknown else ""
        raise ConfigError(f"{NAME}: {told}possible is `{NAME} {_EVALUATE} {_DATA}=PATH [{_JSON}]`")
    return _evaluate(Path(keys[_DATA]), as_json=_JSON in flags, say=say, show=show, note=note)


def _evaluate(data: Path, *, as_json: bool, say: Say, show: Show, note: Say) -> int:
    # scikit-learn takes a second or two to import, which no other verb has to wait for
    from orchestrator.predict.evaluate import evaluate
    from orchestrator.predict.evaluation_tables import plain_of, sentences_of, tables_of
    from orchestrator.predict.read import read_latencies

    found = evaluate(read_latencies(data), tell=note)
    if as_json:
        sys.stdout.write(json.dumps(plain_of(found), indent=1) + "\n")  # for programs: no width, no colour
        return 0
    for table in tables_of(found):
        show(table)
    for sentence in sentences_of(found):
        say(sentence)
    return 0
