"""Predictions with their memory and prices as a plain table, and a line on the basis of each."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis.formatting import (
    UNKNOWN,
    Number,
    count,
    counted,
    digits_for,
    format_spread,
    list_inputs,
    number,
    rounded,
)
from orchestrator.analysis.recommendation.answer.job_line import JobCost, job_line
from orchestrator.analysis.recommendation.answer.summary import format_marks
from orchestrator.analysis.recommendation.jobs.length import JobLength
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.analysis.tables.price_age import describe_age_together
from orchestrator.core.estimate import Estimate, Misfit, Refusal
from orchestrator.core.interval import Spread
from orchestrator.core.memory_fit import Verdict
from orchestrator.core.price import Price, Unpriced, find_marks, priced_as
from orchestrator.core.sweep import Point
from orchestrator.extensions.predictions.jobs import describe_job
from orchestrator.extensions.predictions.memory_need import MemoryNeed
from orchestrator.extensions.predictions.step_breakdown import StepBreakdown
from orchestrator.extensions.predictions.step_time.roofline import Roofline

_MS = 1e3
_SAMPLES = 1e6
_SECONDS_PER_HOUR = 3600
_GIB = 2**30
_COLUMNS = (
    *(Column(header=header, rank=Rank.SETTING) for header in ("workload", "device", "precision")),
    *(Column(header=header, rank=Rank.SETTING, is_number=True) for header in ("batch", "workers")),
    Column(header="predicted ms [90%]", rank=Rank.RATE, is_number=True, is_bracketed=True),
    Column(header="tokens/s", rank=Rank.RATE, is_number=True),
    Column(header="$/M samples [90%]", rank=Rank.COST, is_number=True, is_bracketed=True),
    Column(header="$/M tokens", rank=Rank.COST, is_number=True),
    Column(header="least GiB", rank=Rank.QUALITY, is_number=True),
    *(Column(header=header, rank=Rank.REPEATS) for header in ("90% interval", "notes")),
)
_OF_TOKENS = ("tokens/s", "$/M tokens")  # of language models alone
_NOTE = (
    "Predicted or compiled (docs/how_to/compiled.md), not measured. Brackets: 90% interval, also as a factor "
    "either way. Dollars are of the steps alone, without set-up. Least GiB is a lower bound, unless `plan` "
    "counted it. Notes are below."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Prediction for one point.

    Attributes:
        roofline: None: its workload takes no input of that size.
        step: seconds of one optimizer step, all replicas together.
        price: price of its devices.
        is_rented: a machine starts for it: a pool has its devices, or they are not here.
        has_run: True if the very step was measured.
        knows_network: True if the time has the network between its machines, should there be several.
        memory: least memory of a replica; None: its operations are unknown.
        breakdown: parts of the step; None: a peak or the operations are unknown.
        instance: name of the cloud instance that the device was asked for by; None: by its own name.
        command: command that measures the step; None: no trainer can train it.
        length: length of the job; None: neither asked for nor declared.
        input: input of its network in words; empty: unknown, or refused.
        tokens_per_sample: tokens of a sample of a language model; None: samples are no texts, or refused.
    """

    point: Point
    roofline: Roofline | None
    step: Estimate | Refusal
    price: Price | Unpriced
    is_rented: bool
    has_run: bool = False
    knows_network: bool = False
    memory: MemoryNeed | None = None
    breakdown: StepBreakdown | None = None
    instance: str | None = None
    command: str | None = None
    length: JobLength | None = None
    input: str = ""
    tokens_per_sample: float | None = None

    @property
    def device_label(self) -> str:
        """`t4`, `t4 (g4dn.xlarge)`."""
        name = self.point.device.name
        return name if self.instance is None else f"{name} ({self.instance})"

    @property
    def is_without_network(self) -> bool:
        """True if it has several machines, and the network between them is not in its time."""
        is_split = isinstance(self.price, Price) and self.price.nodes > 1
        return is_split and not (self.has_run or self.knows_network)

    @property
    def may_not_fit(self) -> bool:
        """True if its memory may not suffice."""
        return self.memory is not None and self.memory.is_tight and not self.has_run

    @property
    def interval_factor(self) -> float | None:
        """Factor to both sides of the 90% interval; None: refused."""
        step = self.step
        return None if isinstance(step, Refusal) else max(step.high / step.likely, step.likely / step.low)

    @property
    def usd_per_million_samples(self) -> Spread | None:
        """None: refused, or without a price."""
        if isinstance(self.step, Refusal) or isinstance(self.price, Unpriced):
            return None
        spent = self.price.usd_per_hour / _SECONDS_PER_HOUR * _SAMPLES / self.point.global_batch_size
        return self.step.spread.times(spent)

    @property
    def tokens_per_second(self) -> Spread | None:
        """None: refused, or no language model."""
        if isinstance(self.step, Refusal) or self.tokens_per_sample is None:
            return None
        return self.step.spread.dividing(self.point.global_batch_size * self.tokens_per_sample)

    @property
    def usd_per_million_tokens(self) -> Spread | None:
        """None: refused, without a price, or no language model."""
        usd, tokens = self.usd_per_million_samples, self.tokens_per_sample
        return None if usd is None or tokens is None else usd.times(1 / tokens)

    @property
    def job_tokens(self) -> float | None:
        """Tokens of the job; None: no language model, or the job's length is not known."""
        if self.length is None or self.tokens_per_sample is None:
            return None
        return self.length.samples * self.tokens_per_sample

    @property
    def job_cost(self) -> JobCost | None:
        """Time and cost of the steps of the job; None: refused, or the job's length is not known."""
        if isinstance(self.step, Refusal) or self.length is None:
            return None
        usd = self.usd_per_million_samples
        return JobCost(
            setting=_setting(self),
            seconds=self.step.spread.times(self.length.samples / self.point.global_batch_size),
            usd=None if usd is None else usd.times(self.length.samples / _SAMPLES),
            provenance=self.step.provenance,
            is_without_setup=True,
            is_without_network=self.is_without_network,
            is_rented=self.is_rented,
            price=self.price,
        )


Order = Literal["time", "cost"]


def ordered(predictions: Iterable[Prediction], order: Order | None) -> tuple[Prediction, ...]:
    """Sort by the time or the cost of a sample; refused and unpriced ones come last. None: as asked."""

    def find_key(one: Prediction) -> float:
        step, usd = one.step, one.usd_per_million_samples
        if order == "time":
            return math.inf if isinstance(step, Refusal) else step.likely / one.point.global_batch_size
        return usd.median if usd else math.inf

    return tuple(predictions) if order is None else tuple(sorted(predictions, key=find_key))


def job_lines(predictions: Iterable[Prediction]) -> tuple[str, ...]:
    """Describe time and cost of each job with a requested or declared length, the fastest setting first.

    Settings that may not fit are left out beside others: they look cheap, because they need fewer devices.
    """
    jobs: dict[str, list[Prediction]] = defaultdict(list)
    for one in predictions:
        if one.job_cost is not None:
            jobs[describe_job(one.point)].append(one)
    lines = []
    for name, found in jobs.items():
        likely = [one for one in found if not one.may_not_fit]
        costs = [cost for one in likely or found if (cost := one.job_cost)]
        fastest = min(costs, key=lambda one: (one.seconds.median, one.usd.median if one.usd else math.inf))
        line = job_line(_describe_length(found[0]), fastest, costs, job=name if len(jobs) > 1 else "")
        lines.append(f"{line}{_describe_doubts(found, likely)}")
    return tuple(lines)


def _describe_length(one: Prediction) -> str:
    assert one.length is not None, "only a job with a length has a cost"
    tokens = f", {counted(round(one.job_tokens), 'token')}" if one.job_tokens else ""
    return f"{one.length.label}{tokens}"


def _describe_doubts(found: Sequence[Prediction], likely: Sequence[Prediction]) -> str:
    """Describe how many settings of a job may not fit; empty: none of them."""
    if not likely:
        return " Whether it fits is open: see the notes on memory."
    number_of_doubts = len(found) - len(likely)
    left_out = f" Left out: {counted(number_of_doubts, 'setting')} that may not fit, by the notes on memory."
    return left_out if number_of_doubts else ""


def input_lines(predictions: Iterable[Prediction]) -> tuple[str, ...]:
    """Name the input of each job's network."""
    return list_inputs((describe_job(one.point), one.input) for one in predictions)


def prediction_table(predictions: Sequence[Prediction]) -> Table:
    """One row a point."""
    numbers = _number_notes(predictions)
    has_tokens = any(one.tokens_per_sample is not None for one in predictions)
    age = describe_age_together(one.price for one in predictions if isinstance(one.step, Estimate))
    return Table(
        title="Predicted",
        note=" ".join(filter(None, (_NOTE, _describe_gap(predictions), start_line(predictions), age))),
        columns=tuple(one for one in _COLUMNS if has_tokens or one.header not in _OF_TOKENS),
        rows=tuple(_row(prediction, numbers, has_tokens=has_tokens) for prediction in predictions),
    )


def _row(prediction: Prediction, numbers: Mapping[str, int], *, has_tokens: bool) -> tuple[str, ...]:
    point, step = prediction.point, prediction.step
    rate, price = (
        ([_find_likely(prediction.tokens_per_second)], [_find_likely(prediction.usd_per_million_tokens)])
        if has_tokens
        else ([], [])
    )
    return (
        describe_job(point),
        prediction.device_label,
        point.precision,
        format_batch(point),
        Number(f"{point.num_workers} on {counted(point.num_hosts, 'host')}", point.num_workers)
        if point.num_hosts
        else count(point.num_workers),
        format_spread(step.spread.times(_MS)) if isinstance(step, Estimate) else UNKNOWN,
        *rate,
        _usd(prediction),
        *price,
        _memory(prediction.memory),
        _verdict(prediction),
        ",".join(str(numbers[note]) for note in find_notes(prediction)),
    )


def _find_likely(value: Spread | None) -> str:
    """Return the likely value alone: its interval is that of the samples beside it."""
    return UNKNOWN if value is None else number(rounded(value).median, digits=digits_for(value))


def format_batch(point: Point) -> str:
    """Return `64`, or `64, micro_batch_size=8`."""
    size, words = point.global_batch_size, point.memory_settings.words
    return Number(f"{size:,}, {words.replace(' ', ', ')}", size) if words else count(size)


def note_lines(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    """List the notes that the rows of the table name by their numbers, each cause once.

    A refusal has the command that measures the first of its points, of those here if there are any.
    """
    here_first = sorted(predictions, key=lambda one: one.is_rented)
    first = {find_notes(one)[0]: one for one in here_first[::-1]}
    return tuple(
        f"{number}  {note}{_how_to_measure(first[note]) if note in first else ''}"
        for note, number in _number_notes(predictions).items()
    )


def start_line(predictions: Iterable[Prediction]) -> str:
    """Describe what the start of rented machines takes and costs; empty: nothing is priced that is rented."""
    rented = [one for one in predictions if one.is_rented and isinstance(one.step, Estimate)]
    return describe_start(one.price for one in rented if isinstance(one.price, Price) or one.length)


def _describe_gap(predictions: Iterable[Prediction]) -> str:
    """Describe what the least memory of jobs in a user's own code lacks; empty: there are none."""
    needs = [one.memory for one in predictions if one.memory]
    is_short = any(need.moved_bytes and not isinstance(need.counted, Verdict) for need in needs)
    return "Least GiB of an own job lacks its activations, so no batch changes it." if is_short else ""


def describe_basis(prediction: Prediction) -> str:
    """Show what one prediction stands on, or why it is refused and what measures it, a fact a sentence."""
    factor = prediction.interval_factor
    basis, *notes = find_notes(prediction)
    if factor is None:
        return f"Refused: {basis}{_how_to_measure(prediction)}"
    facts = (f"90% interval: {factor:.2f}x either way", *notes, f"basis: {basis}")
    return " ".join(f"{fact[:1].upper()}{fact[1:]}." for fact in facts)


def _number_notes(predictions: Iterable[Prediction]) -> Mapping[str, int]:
    notes = dict.fromkeys(note for prediction in predictions for note in find_notes(prediction))
    return {note: number for number, note in enumerate(notes, start=1)}


def find_notes(prediction: Prediction) -> tuple[str, ...]:
    """Return what the step stands on, how good that kind has been, and its price; or why it is refused."""
    step, price = prediction.step, prediction.price
    if isinstance(step, Refusal) and _is_too_large(prediction):
        return (f"does not fit: {step.reason}",)
    priced = (
        f"without a price: {price.reason}" if isinstance(price, Unpriced) else f"priced as {priced_as(price)}"
    )
    if isinstance(step, Refusal):
        return (step.reason, *([] if isinstance(price, Unpriced) else [priced]))
    return (step.source, *([step.past] if step.past else []), *list_left_out(prediction), priced)


def list_left_out(prediction: Prediction) -> list[str]:
    """Describe what is not in a predicted time, and a doubt on its memory."""
    left_out = (
        ["the network between its machines is not in the time"] if prediction.is_without_network else []
    )
    point, memory = prediction.point, prediction.memory
    is_compiled = point.trainer_options.get("compile") == "on"
    if is_compiled and not prediction.has_run and point.precision != "fp8":
        left_out.append("what trainer.compile=on saves is not in the time")
    if memory and prediction.may_not_fit:
        left_out.append(memory.describe_doubt(point.device.name))
    return left_out


def _how_to_measure(prediction: Prediction) -> str:
    step = prediction.step
    if isinstance(step, Estimate):
        return ""
    if _is_too_large(prediction) or prediction.command is None:
        return f"; possible: {step.to_measure}"
    device = prediction.point.device.name
    where = f" on a machine with {device} (elsewhere it is rehearsed)" if prediction.is_rented else ""
    return f"; or measure it{where}: {prediction.command}"


def _setting(prediction: Prediction) -> str:
    """`t4 in fp32, batch 64, 2 workers`, `8 workers on 2 hosts`."""
    point = prediction.point
    workers = f", {point.num_workers} workers" if point.num_workers > 1 else ""
    workers += f" on {counted(point.num_hosts, 'host')}" if point.num_hosts else ""
    return f"{prediction.device_label} in {point.precision}, batch {format_batch(point)}{workers}"


def _is_too_large(prediction: Prediction) -> bool:
    return isinstance(prediction.step, Misfit)


def _verdict(prediction: Prediction) -> str:
    factor = prediction.interval_factor
    if factor is not None:
        return f"{factor:.2f}x"
    return "does not fit" if _is_too_large(prediction) else "refused"


def _memory(need: MemoryNeed | None) -> str:
    """`1.25 of 16`; without a capacity `1.25`."""
    if need is None:
        return UNKNOWN
    least = (need.counted.needed_bytes if isinstance(need.counted, Verdict) else need.least_bytes) / _GIB
    shown = number(least, digits=3)
    if need.capacity_bytes is None:
        return shown
    return Number(f"{shown} of {number(need.capacity_bytes / _GIB, digits=3)}", least)


def _usd(prediction: Prediction) -> str:
    """Return the dollars of a million samples."""
    usd, price = prediction.usd_per_million_samples, prediction.price
    if usd is None or isinstance(price, Unpriced):
        return UNKNOWN
    marks = format_marks(", ".join(find_marks(price)))
    return Number(f"{format_spread(usd)} {marks}".rstrip(), usd.median)
