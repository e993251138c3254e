"""Predictions and advice for notebooks; `orchestrator.api` has these functions."""

from pathlib import Path

import pandas as pd

from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.job_line import format_job_lines
from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.analysis.recommendation.tables import build_tables
from orchestrator.analysis.report.export import recommendations_frame
from orchestrator.analysis.table import cut
from orchestrator.commands.notebook import MOST_ROWS, Sentences, format_html, format_paragraphs, parse_words
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Refusal
from orchestrator.extensions.predictions.advise import recommend_settings
from orchestrator.extensions.predictions.commands import split_order
from orchestrator.extensions.predictions.documents import prediction_document
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.extensions.predictions.prediction_table import (
    Prediction,
    input_lines,
    job_lines,
    note_lines,
    ordered,
    prediction_table,
)


class Predictions:
    """Predictions of points, shown in a notebook.

    Attributes:
        points: the predictions as values.
    """

    def __init__(self, points: tuple[Prediction, ...]) -> None:
        self.points = points

    @property
    def results(self) -> pd.DataFrame:
        """One row a point: times in seconds with 90% intervals, their provenance, or the refusal."""
        return pd.DataFrame(map(_predicted_row, self.points))

    @property
    def sentences(self) -> Sentences:
        """Sentences on the time and cost of the jobs, and on the basis of the predictions."""
        return Sentences((*job_lines(self.points), *input_lines(self.points), *note_lines(self.points)))

    def __repr__(self) -> str:
        columns = ["workload", "device", "precision", "global_batch_size", "provenance", "step_seconds"]
        return f"{self.results[columns].to_string(index=False)}\n{self.sentences!r}"

    def _repr_html_(self) -> str:
        table = cut(prediction_table(self.points), most_rows=MOST_ROWS, others="`results` has every one")
        return format_html(table) + format_paragraphs(self.sentences)


def _predicted_row(one: Prediction) -> dict[str, object]:
    document = prediction_document(one)
    step, usd, job = (
        document["step_seconds"] or {},
        document["usd_per_million_samples"] or {},
        document["job"],
    )
    names = ("workload", "device", "instance", "precision", "num_workers", "num_hosts", "global_batch_size")
    return {
        **{name: document[name] for name in names},
        "provenance": document["provenance"],
        "step_seconds": step.get("median"),
        "step_seconds_low": step.get("low"),
        "step_seconds_high": step.get("high"),
        "usd_per_million_samples": usd.get("median"),
        "job_samples": job and job["samples"],
        "job_seconds": job and job["seconds"]["median"],
        "job_usd": job and job["usd"] and job["usd"]["median"],
        "source": document["source"],
        "refusal": one.step.reason if isinstance(one.step, Refusal) else None,
        "command": document["command"],
    }


class Advice:
    """Answers for the jobs of a sweep, shown in a notebook.

    Attributes:
        answers: the recommendations as values.
    """

    def __init__(self, answers: tuple[Recommendation, ...]) -> None:
        self.answers = answers

    @property
    def recommendations(self) -> pd.DataFrame:
        """One row a job, as `Report.recommendations`."""
        return recommendations_frame(self.answers)

    @property
    def settings(self) -> pd.DataFrame:
        """One row a judged setting of a job, the leader first."""
        return pd.DataFrame(
            [_standing_row(answer, one) for answer in self.answers for one in answer.standings]
        )

    @property
    def sentences(self) -> Sentences:
        """Sentences on the time and cost of each job, and the answers."""
        return Sentences((*format_job_lines(self.answers), *map(format_sentence, self.answers)))

    def __repr__(self) -> str:
        return repr(self.sentences)

    def _repr_html_(self) -> str:
        tables = (cut(table, most_rows=MOST_ROWS) for table in build_tables(self.answers))
        return "".join(map(format_html, tables)) + format_paragraphs(self.sentences)


def _standing_row(answer: Recommendation, one: RankedSetting) -> dict[str, object]:
    return {
        "job": answer.job,
        "setting": one.setting,
        "provenance": one.provenance,
        "chance": one.chance,
        "seconds": one.seconds.median,
        "seconds_low": one.seconds.low,
        "seconds_high": one.seconds.high,
        "usd": one.usd.median if one.usd else None,
        "price_marks": one.price_marks,
        "samples_per_second": one.samples_per_second.median,
        "quality": one.quality.estimate if one.quality else None,
        **{name: value for name, value in one.factors.items() if name not in ("setting", "provenance")},
    }


def predict(*words: str) -> Predictions:
    """Predict points, as `orchestrator.api.predict` describes."""
    order, rest = split_order(words)
    with parse_words(rest) as overrides:
        return Predictions(ordered(predict_points(overrides, working_directory=Path.cwd()), order))


def advise(*words: str, confidence: float | None = None) -> Advice:
    """Recommend settings, as `orchestrator.api.advise` describes."""
    if confidence is not None and not 0 < confidence < 1:
        raise ConfigError(f"confidence={confidence} must be a number between 0 and 1")
    with parse_words(words) as overrides:
        return Advice(recommend_settings(overrides, confidence=confidence, working_directory=Path.cwd()))


FUNCTIONS = {"predict": predict, "advise": advise}
