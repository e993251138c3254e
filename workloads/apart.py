"""A user's code in a process of its own: the question, and the answer or the error.

For any code the caller gets checked JSON, or a ValueError of one line, within a deadline.
"""

import json
import math
import os
import threading
from collections.abc import Mapping
from typing import Any

from workloads.apart_room import NoAnswerError, Progress, Room
from workloads.lines import shown
from workloads.shapes import UnsuitableInputError

SECONDS_VARIABLE = "ORCHESTRATOR_WORKLOAD_SECONDS"
"""Variable with the seconds that a user's code may take for one answer: an import, a spec, a data set."""

GIGABYTES_VARIABLE = "ORCHESTRATOR_WORKLOAD_GIGABYTES"
"""Variable with the gigabytes of memory that its process may take."""

_LIMITS = {SECONDS_VARIABLE: ("workload_seconds", 60.0), GIGABYTES_VARIABLE: ("workload_gigabytes", 16.0)}
"""Variable -> its word on a command line, and the limit if neither is set."""

_lock = threading.RLock()
_rooms: list[Room] = []
_answers: dict[str, Mapping[str, Any]] = {}


def ask(
    question: Mapping[str, Any], *, subject: str, folder: str | None, progress: Progress | None = None
) -> Any:
    """Ask a user's code a question and return the answer as plain values. Answers are cached until `close`.

    Args:
        subject: owner of the code, for the error.
        folder: folder of the code; None if unknown.
        progress: receives the progress of a download; the deadline restarts at each call.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ValueError: the code refuses, fails, or gives no answer.
    """
    request = _format_json({**question, "subject": subject, "folder": folder}, subject)
    with _lock:
        if request not in _answers:
            _answers[request] = _answer(request, progress)
        answer = _answers[request]
    if "refused" not in answer:
        return answer["given"]
    error = UnsuitableInputError if answer["is_unsuitable"] else ValueError
    raise error(shown(answer["refused"]))


def close() -> None:
    """End the process and all that it started, and forget its answers."""
    with _lock:
        _answers.clear()
        _end_room()


def _answer(request: str, progress: Progress | None) -> Mapping[str, Any]:
    seconds, gigabytes = _limit(SECONDS_VARIABLE), _limit(GIGABYTES_VARIABLE)
    question = json.loads(request)
    try:
        if not _rooms:
            _rooms.append(Room(gigabytes=gigabytes))
        return _rooms[0].answer_to(question, seconds=seconds, progress=progress)
    except NoAnswerError as error:
        _end_room()
        return {"refused": f"{question['subject']}: {error}", "is_unsuitable": False}
    except BaseException:
        _end_room()
        raise


def _end_room() -> None:
    while _rooms:
        _rooms.pop().close()


def _format_json(question: Mapping[str, Any], subject: str) -> str:
    try:
        return json.dumps(question, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{subject}: an option is not a number, text or list of them: {error}") from error


def _limit(variable: str) -> float:
    """One of the two limits. Raises ValueError for a value that is none."""
    word, usual = _LIMITS[variable]
    setting = os.environ.get(variable) or str(usual)
    try:
        limit = float(setting)
    except ValueError:
        limit = math.nan
    if not 0 < limit <= 1e6:
        raise ValueError(f"{word}={shown(setting)} must be a number above 0 and at most 1,000,000")
    return limit
