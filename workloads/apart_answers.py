"""The process that runs a user's code: it answers one question after the other, each in one line of JSON."""

import faulthandler
import json
import os
import resource
import socket
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from workloads.apart import CLOSED, MOST_BYTES, Progress
from workloads.data.dataset import DataSet, UserFolder
from workloads.data.published import Means
from workloads.data.sources import data_set_at, prepare
from workloads.lines import cut_message, locate_error
from workloads.origins import Origin, make_importable
from workloads.plain import Knob, Ready, to_plain
from workloads.registry import options_here, spec_here
from workloads.shapes import UnsuitableInputError

_MOST_DESCRIBED = 1000
"""Characters that describe a data set: it is one line on the screen."""

Question = Mapping[str, Any]


def serve(connection: socket.socket, faults: int) -> None:
    """Answer until the connection ends.

    Args:
        faults: descriptor of a file; the code's place is noted there when it is late or has crashed.
    """
    faulthandler.enable(file=faults)
    _send(connection, 0, {"given": None})
    with connection.makefile("rb") as questions:
        for line in questions:
            question = json.loads(line)

            def on_progress(received: int, in_all: int | None, question: Question = question) -> None:
                _send(connection, question["number"], {"received": received, "in_all": in_all})
                faulthandler.dump_traceback_later(question["seconds"], file=faults)

            faulthandler.dump_traceback_later(question["seconds"], file=faults)
            answer = _answer_to(question, on_progress)
            faulthandler.cancel_dump_traceback_later()
            _send(connection, question["number"], answer)


def _send(connection: socket.socket, number: int, message: Mapping[str, Any]) -> None:
    try:
        connection.sendall(f"{json.dumps({'number': number, **message})}\n".encode())
    except OSError:
        os._exit(CLOSED)


def _answer_to(question: Question, on_progress: Progress) -> Mapping[str, Any]:
    try:
        given = _ASKED[question["ask"]](question, on_progress)
        size = len(json.dumps(given))
        if size < MOST_BYTES - 1000:
            return {"given": given}
        refused = f"{question['subject']}: the answer has {size:,} bytes, at most {MOST_BYTES:,} are possible"
    except BaseException as error:  # noqa: BLE001  a user's code raises anything
        refused = _refusal(error, question)
        return {"refused": refused, "is_unsuitable": isinstance(error, UnsuitableInputError)}
    return {"refused": refused, "is_unsuitable": False}


def _refusal(error: BaseException, question: Question) -> str:
    """A ValueError is in our words, unless the code of the user raised it in the middle of something else."""
    folder = question["folder"] or "\0"
    line = locate_error(error, folder=folder)
    is_ours = isinstance(error, ValueError) and (question["ask"] != "data" or not line.startswith(folder))
    text = cut_message(error) if is_ours else f"{question['subject']}: {line}"
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        limit = resource.getrlimit(resource.RLIMIT_DATA)[0] / 1e9
        return f"{text}; it may take {limit:g} GB, and workload_gigabytes={2 * limit:g} gives it more"
    return text


def _options(question: Question, _on_progress: Progress) -> Any:
    """Return the name, type and default of every knob."""
    options = options_here(question["name"], Origin(**question["origin"]))
    hints = get_type_hints(options)
    knobs = []
    for field_ in fields(options):
        hint = hints[field_.name]
        is_tuple = get_origin(hint) is tuple
        kind = (get_args(hint)[0] if is_tuple else hint).__name__
        default = None if field_.default is MISSING else field_.default
        knobs.append(Knob(name=field_.name, kind=kind, is_tuple=is_tuple, default=default))
    return to_plain(knobs, path="Options")


def _spec(question: Question, _on_progress: Progress) -> Any:
    spec = spec_here(question["name"], question["options"], Origin(**question["origin"]))
    try:
        return to_plain(spec, path=type(spec).__name__)
    except ValueError as error:
        raise ValueError(f"{question['subject']}: {error}") from error


def _data(question: Question, on_progress: Progress) -> Any:
    for origin in question["origins"]:
        make_importable(Origin(**origin))
    data_set = data_set_at(question["data_set"])
    _require_descriptions(data_set, question["subject"])
    folder = question["data_folder"]
    means = Means(
        cache=Path(question["cache"]),
        download=question["download"],
        folder=None if folder is None else Path(folder),
        progress=on_progress,
    )
    ref = prepare(data_set, question["source"], means)
    ready = Ready(
        id=ref.id,
        path=str(ref.path),
        description=ref.description,
        to_download=ref.to_download,
        train_samples=ref.train_samples,
        train_tokens=ref.train_tokens,
    )
    return to_plain(ready, path="DataRef")


def _require_descriptions(data_set: DataSet, subject: str) -> None:
    """Check that each of its forms has a description of one line."""
    forms = (data_set.real,) if isinstance(data_set.real, UserFolder) else data_set.real
    for form in (*forms, data_set.standin, data_set.synthetic):
        description = None if form is None else form.description
        kind = type(form).__name__
        if form is not None and not isinstance(description, str):
            raise ValueError(f"{subject}: the description of its {kind} is {description!r}, expected a text")
        if description is not None and len(description) > _MOST_DESCRIBED:
            raise ValueError(
                f"{subject}: the description of its {kind} has {len(description):,} characters, "
                f"at most {_MOST_DESCRIBED:,} are possible"
            )


_ASKED: Mapping[str, Callable[[Question, Progress], Any]] = {
    "options": _options,
    "spec": _spec,
    "data": _data,
}
