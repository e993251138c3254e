"""The bytes of a ledger <-> its records, and the lines that are none. Pure."""

from dataclasses import dataclass
from functools import cache

from orchestrator.core.codec import convert_to_plain, from_plain, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is not a record. `number` counts from 1; `cause` is one line."""

    number: int
    text: bytes
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Content of a ledger's file.

    Attributes:
        good: the lines that are records, byte for byte, without their ends.
        records: one for each of them.
        is_whole: the file can be appended to as it is.
    """

    good: tuple[bytes, ...]
    records: tuple[TrialRecord, ...]
    bad: tuple[BadLine, ...]
    is_whole: bool


def encode_record(record: TrialRecord) -> bytes:
    """A record's line, with its end."""
    # A lone surrogate has no UTF-8; its escape is JSON for the same string.
    return to_json(record).encode(errors="backslashreplace") + b"\n"


def parse_lines(content: bytes) -> Lines:
    """Read a ledger. Raise RecordError for a record of a later version, which is not a bad line."""
    good: list[bytes] = []
    records: list[TrialRecord] = []
    bad: list[BadLine] = []
    for number, text in enumerate(content.split(b"\n"), start=1):
        try:
            record = _record_or_cause(text) if text else None
        except RecordError as error:
            raise RecordError(f"line {number} {error}") from error
        if isinstance(record, str):
            bad.append(BadLine(number=number, text=text, cause=record))
        elif record is not None:
            good.append(text)
            records.append(record)
    return Lines(
        good=tuple(good),
        records=tuple(records),
        bad=tuple(bad),
        is_whole=not bad and (not content or content.endswith(b"\n")),
    )


@cache
def _record_or_cause(text: bytes) -> TrialRecord | str:
    """Once a process for each line: a command reads its ledgers several times, and lines never change."""
    try:
        plain = convert_to_plain(text)
    except RecordError as error:
        return str(error)
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RecordError(
            f"has schema_version {version}; this version reads up to {SCHEMA_VERSION}: "
            "use the version that wrote it, or move the file away"
        )
    try:
        return from_plain(TrialRecord, plain)
    except RecordError as error:
        return str(error)
