"""Predictions as JSON documents; `docs/reference/json.md` describes every key. Pure."""

from collections.abc import Iterable
from typing import Any

from orchestrator.analysis.recommendation.answer.job_line import JobCost
from orchestrator.analysis.recommendation.jobs.length import JobLength
from orchestrator.commands.step_document import step_document
from orchestrator.core import codec
from orchestrator.core.estimate import Refusal
from orchestrator.core.price import Unpriced, find_marks
from orchestrator.extensions.predictions.memory_need import MemoryNeed
from orchestrator.extensions.predictions.prediction_table import Prediction, list_left_out


def predictions_document(predictions: Iterable[Prediction]) -> dict[str, Any]:
    """Make the document of `predict`."""
    return {"predictions": [prediction_document(one) for one in predictions]}


def prediction_document(prediction: Prediction) -> dict[str, Any]:
    """Make the document of one prediction."""
    plain: dict[str, Any] = codec.to_nulls(_prediction(prediction))
    return plain


def _prediction(prediction: Prediction) -> dict[str, Any]:
    point, roofline, price = prediction.point, prediction.roofline, prediction.price
    length, job = prediction.length, prediction.job_cost
    return {
        "workload": point.workload,
        "workload_options": point.workload_options,
        "input": prediction.input or None,
        "device": point.device.name,
        "instance": prediction.instance,
        "precision": point.precision,
        "num_workers": point.num_workers,
        "num_hosts": point.num_hosts,
        "global_batch_size": point.global_batch_size,
        **codec.to_nulls(point.memory_settings),
        **step_document(prediction.step),
        "interval_factor": prediction.interval_factor,
        "left_out": [] if isinstance(prediction.step, Refusal) else list_left_out(prediction),
        "command": prediction.command,
        "memory": None if prediction.memory is None else _memory(prediction.memory),
        "parts_seconds": prediction.breakdown,
        "roofline_seconds": None
        if roofline is None
        else {"bound": roofline.bound_seconds, **codec.to_nulls(roofline)},
        "usd_per_million_samples": prediction.usd_per_million_samples,
        "tokens_per_sample": prediction.tokens_per_sample,
        "tokens_per_second": prediction.tokens_per_second,
        "usd_per_million_tokens": prediction.usd_per_million_tokens,
        "job": None
        if job is None or length is None
        else {**_job(job, length), "tokens": prediction.job_tokens},
        "price_marks": [] if isinstance(price, Unpriced) else find_marks(price),
        "price": None if isinstance(price, Unpriced) else price,
        "unpriced": price.reason if isinstance(price, Unpriced) else None,
    }


def _job(job: JobCost, length: JobLength) -> dict[str, Any]:
    return {
        "provenance": job.provenance,
        "samples": length.samples,
        "source": length.source,
        "seconds": job.seconds,
        "usd": job.usd,
        "spot": job.spot,
    }


def _memory(need: MemoryNeed) -> dict[str, Any]:
    names = ("least_bytes", "capacity_bytes", "fits", "is_tight", "largest_batch", "added_bytes")
    parts = (f"{part}_bytes" for part in ("weight", "gradient", "slot", "activation", "gathered"))
    known = {name: getattr(need, name) for name in (*names, *parts)}
    largest = need.largest_batch if need.passes == 1 else None  # of a larger batch, more passes
    return {"provenance": "predicted", **known, "largest_batch": largest}
