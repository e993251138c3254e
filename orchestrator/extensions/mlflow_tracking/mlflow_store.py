"""Mirrors a sweep in MLflow: one parent run per sweep, one child run per attempt of a trial."""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.core.codec import to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.printable import without_secrets
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.attempt_log import find_log_files, find_log_text
from orchestrator.extensions.mlflow_tracking.axes import (
    build_params,
    format_value,
    name_run,
    sweep_params,
    values_in,
    varying_in,
)
from orchestrator.extensions.mlflow_tracking.data_sets import find_data
from orchestrator.extensions.mlflow_tracking.fingerprint import (
    FINGERPRINT_TAG,
    experiment_showing,
    hash_fingerprint,
)
from orchestrator.extensions.mlflow_tracking.keys import LONGEST_TAG
from orchestrator.extensions.mlflow_tracking.mlflow_client import (
    absolute,
    find_cause,
    find_database,
    open_client,
    require_mlflow,
    source_tags,
)
from orchestrator.extensions.mlflow_tracking.mlflow_run import (
    RECORD_NAME,
    RunKey,
    build_run_key,
    build_tags,
    compute_milliseconds,
    load_points,
)
from orchestrator.extensions.mlflow_tracking.notes import (
    EXPERIMENT_NOTE,
    NOTE_TAG,
    PREDICTED_NOTE,
    SWEEP_NOTE,
    attempt_note,
    find_note,
)
from orchestrator.extensions.mlflow_tracking.page import VIEW, VIEW_TAG
from orchestrator.extensions.mlflow_tracking.predicted_run import (
    PREDICTED,
    build_predicted_key,
    build_predicted_params,
    build_predicted_tags,
)
from orchestrator.extensions.mlflow_tracking.summary import prices_in, summarise_sweep
from orchestrator.record.tracking.tracker import (
    JOB_METRICS,
    MARKDOWN_NAME,
    LoggedRecord,
    Prediction,
    SweepOutline,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

logger = logging.getLogger(__name__)

_METRICS_PER_CALL = 900  # MLflow refuses more than 1000 metrics, params and tags in one call
_PARAMS_PER_CALL = 100  # its own limit
_SUMMARY_SECONDS = 5.0  # between two updates of a sweep's numbers


@dataclass(slots=True, kw_only=True)
class _Shown:
    """A run on the server with its newest metrics."""

    run_id: str
    metrics: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class _SweepRun:
    """State of a sweep on the server.

    Attributes:
        parent_id: id of the sweep's parent run.
        whole: attempts with completely written runs.
        torn: incomplete runs: their driver was killed while it wrote, or their creation was not confirmed.
        predicted: runs of each prediction, by its key and provenance.
    """

    experiment_id: str
    parent_id: str
    whole: dict[RunKey, _Shown] = field(default_factory=dict)
    torn: dict[RunKey, list[str]] = field(default_factory=lambda: defaultdict(list))
    predicted: dict[tuple[str, str], list[_Shown]] = field(default_factory=lambda: defaultdict(list))


class MlflowStore:
    """A tracker (`tracker.Tracker`) that writes to an MLflow database file or server.

    After a call that failed nothing more is tried until `finish`: a server that does not answer costs two
    time-outs, not one for each trial.

    Args:
        uri: `sqlite:///<file>`, `http://…` or `https://…`.

    Raises:
        RecordError: another kind of URI, or MLflow is not installed.
    """

    def __init__(self, uri: str) -> None:
        self._uri = absolute(uri)
        require_mlflow()
        self._outline: SweepOutline | None = None
        self._values: Mapping[str, tuple[str, ...]] = {}
        self._logged: dict[RunKey, LoggedRecord] = {}
        self._summarised_at = 0.0
        self._sweep: _SweepRun | None = None
        self._is_down = False
        self._has_warned = False
        self._missed: list[LoggedRecord] = []
        self._is_refused = False
        self.refused = 0
        self.sent = 0
        self.experiment_id: str | None = None

    @property
    def missed(self) -> int:
        """Records that the server could not be given so far."""
        return len(self._missed)

    @cached_property
    def _client(self) -> "MlflowClient":
        return open_client(self._uri)

    def shows(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> bool:
        """Return whether a database shows this report and these records; a server would have to be asked."""
        database = find_database(self._uri)
        if not database:
            return False
        found = {build_run_key(record): (record, metrics) for record, metrics in kept}
        try:
            fingerprint = hash_fingerprint(outline, [*found.values()], files)
        except OSError:
            return False
        self.experiment_id = experiment_showing(
            database, fingerprint, sweep=outline.name, num_attempts=len(found), files=files
        )
        return self.experiment_id is not None

    def begin(self, outline: SweepOutline) -> None:
        """Open the sweep's experiment and its parent run, which is RUNNING from here to `finish`."""
        self._outline, self._values = outline, values_in(outline.specs)
        with self._survivable():
            self._summarise(self._opened().parent_id)

    def sync(self, kept: Iterable[LoggedRecord]) -> None:
        """Write the runs that the server lacks."""
        for record, metrics in kept:
            self.save(record, metrics)

    def save(self, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        """Write one attempt as a run of its own, unless the server has it."""
        self._logged[build_run_key(record)] = record, metrics
        if not self._is_down:
            self._is_refused = False
            with self._survivable():
                self._write_once(record, metrics)
                return
            if self._is_refused:
                self.refused += 1
                return
        self._missed.append((record, metrics))

    def wait_for_writes(self) -> None:
        """Nothing waits: what is given is written at once."""

    def finish(self, files: Sequence[Path], *, predictions: Sequence[Prediction] = ()) -> None:
        """Send again what was missed, attach the report and end the parent run; KILLED without a report."""
        self._is_down, self._outline = False, replace(self._begun(), predictions=tuple(predictions))
        missed, self._missed = self._missed, []
        self.sync(missed)
        if not self._is_down:
            with self._survivable():
                self._close(files)
        if self._missed:
            logger.warning(
                "%d records are not in MLflow at %s; the next run of the sweep sends them",
                self.missed,
                without_secrets(self._uri),
            )
        if self.refused:
            logger.warning(
                "%d records are refused by MLflow at %s; only the ledger has them, no run sends them again",
                self.refused,
                without_secrets(self._uri),
            )

    def attach(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> None:
        """Attach a report to the sweep's parent run; create the run if it does not exist."""
        self._outline, self._values = outline, values_in(outline.specs)
        self._logged = {build_run_key(record): (record, metrics) for record, metrics in kept}
        with self._survivable():
            experiment_id = self._name_experiment(outline.name)
            run_id = self._parent_in(experiment_id)
            if run_id is None:
                run_id = self._new_parent(experiment_id, outline.name)
                self._client.set_terminated(run_id)
            self._log(run_id, files)
            sweep = self._sweep_below(experiment_id, run_id)
            for key, (_, metrics) in self._logged.items():
                if key in sweep.whole:
                    self._update_job(sweep.whole[key], metrics)
            self._predict(sweep, outline.predictions)
            self._summarise(run_id)
            self._mark(run_id, files)

    def _write_once(self, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        sweep, key = self._opened(), build_run_key(record)
        for run_id in sweep.torn.pop(key, ()):
            self._discard(run_id)
        if key in sweep.whole:
            self._update_job(sweep.whole[key], metrics)
            return
        run_id = self._create(record, sweep)
        try:
            self._fill(run_id, record, metrics)
        except BaseException:
            self._discard(run_id)
            raise
        sweep.whole[key] = _Shown(run_id=run_id, metrics=metrics)
        self.sent += 1
        if time.monotonic() - self._summarised_at > _SUMMARY_SECONDS:
            self._summarise(sweep.parent_id)

    def _create(self, record: TrialRecord, sweep: _SweepRun) -> str:
        run = self._client.create_run(
            sweep.experiment_id,
            start_time=compute_milliseconds(record.started_at),
            tags={
                "mlflow.parentRunId": sweep.parent_id,
                NOTE_TAG: attempt_note(record, log=find_log_text(self._find_log_files(record))),
                **source_tags(),
                **build_tags(record),
            },
            run_name=name_run(record, varying=varying_in(self._values)),
        )
        return str(run.info.run_id)

    def _fill(self, run_id: str, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        from mlflow.entities import Metric, Param

        points = [Metric(*point) for point in load_points(record, metrics)]
        params = [Param(name, value) for name, value in build_params(record.spec).items()]
        self._client.log_batch(run_id, metrics=points[:_METRICS_PER_CALL], params=params)
        for start in range(_METRICS_PER_CALL, len(points), _METRICS_PER_CALL):
            self._client.log_batch(run_id, metrics=points[start : start + _METRICS_PER_CALL])
        self._client.log_inputs(run_id, datasets=[_build_data_input(record)])
        self._client.log_text(run_id, to_json(record), RECORD_NAME)
        for file in self._find_log_files(record):
            self._client.log_artifact(run_id, str(file), "log")
        status = "KILLED" if record.is_pruned else "FAILED" if record.failure else "FINISHED"
        self._client.set_terminated(run_id, status=status, end_time=compute_milliseconds(record.ended_at))

    def _discard(self, run_id: str) -> None:
        self._client.set_terminated(run_id, status="KILLED")  # a deleted run keeps its status
        self._client.delete_run(run_id)

    def _find_log_files(self, record: TrialRecord) -> tuple[Path, ...]:
        has_failed = record.outcome == "failed"
        return find_log_files(record, self._begun().folder) if has_failed else ()

    def _update_job(self, shown: _Shown, metrics: Mapping[str, float]) -> None:
        """Give an attempt's run the numbers of the job that another length has changed."""
        self._update(shown, {name: metrics[name] for name in JOB_METRICS if name in metrics})

    def _update(self, shown: _Shown, metrics: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = round(time.time() * 1000)
        changed = {name: value for name, value in metrics.items() if shown.metrics.get(name) != value}
        if changed:
            points = [Metric(name, value, now, 0) for name, value in changed.items()]
            self._client.log_batch(shown.run_id, metrics=points)
            shown.metrics = {**shown.metrics, **changed}

    def _predict(self, sweep: _SweepRun, predictions: Sequence[Prediction]) -> None:
        """Show these predictions and no others, each as one run."""
        left = dict(sweep.predicted)
        for one in predictions:
            first, *others = left.pop((build_predicted_key(one), one.provenance), ()) or (
                self._create_predicted(one, sweep),
            )
            self._update(first, one.metrics)
            for other in others:  # made twice, by one that never heard of the first
                self._discard(other.run_id)
        for shown in (shown for several in left.values() for shown in several):
            self._discard(shown.run_id)

    def _create_predicted(self, one: Prediction, sweep: _SweepRun) -> _Shown:
        from mlflow.entities import Param

        tags = {
            "mlflow.parentRunId": sweep.parent_id,
            NOTE_TAG: PREDICTED_NOTE,
            **source_tags(),
            **build_predicted_tags(one),
        }
        run = self._client.create_run(
            sweep.experiment_id, tags=tags, run_name=f"{one.setting} · {one.provenance}"
        )
        run_id = str(run.info.run_id)
        params = [Param(name, value) for name, value in build_predicted_params(one).items()]
        self._client.log_batch(run_id, params=params)
        self._client.set_terminated(run_id)
        return _Shown(run_id=run_id, metrics={})

    def _close(self, files: Sequence[Path]) -> None:
        sweep = self._opened()
        parent_id = sweep.parent_id
        self._log(parent_id, files)
        if files:
            self._predict(sweep, self._begun().predictions)
        self._summarise(parent_id)
        if files and not self._missed and not self.refused:
            self._mark(parent_id, files)
        self._client.set_terminated(parent_id, status="FINISHED" if files else "KILLED")

    def _log(self, run_id: str, files: Sequence[Path]) -> None:
        for file in files:
            self._client.log_artifact(run_id, str(file))
            if file.name == MARKDOWN_NAME:
                self._client.set_tag(run_id, NOTE_TAG, find_note(file.read_text(encoding="utf-8")))

    def _mark(self, run_id: str, files: Sequence[Path]) -> None:
        """Tag the sweep's run with the hash of all that it shows."""
        fingerprint = hash_fingerprint(self._begun(), [*self._logged.values()], files)
        self._client.set_tag(run_id, FINGERPRINT_TAG, fingerprint)

    def _summarise(self, parent_id: str) -> None:
        """Give the parent run the parameters that it lacks, and the numbers of the sweep so far.

        More parameters than one call takes are sent with the next update.
        """
        from mlflow.entities import Metric, Param, RunTag

        outline, self._summarised_at = self._begun(), time.monotonic()
        known = self._client.get_run(parent_id).data.params
        wanted = sweep_params(known, name=outline.name, goal=outline.goal, values=self._values)
        params = [Param(name, value) for name, value in wanted.items()]
        now = round(time.time() * 1000)
        found = summarise_sweep(self._logged.values(), planned=outline.planned) if self._logged else {}
        metrics = [Metric(name, value, now, len(self._logged)) for name, value in found.items()]
        prices = "; ".join(prices_in(record for record, _ in self._logged.values()))[:LONGEST_TAG]
        tags = [RunTag("price", prices)] if prices else []
        self._client.log_batch(parent_id, metrics=metrics, params=params[:_PARAMS_PER_CALL], tags=tags)

    def _begun(self) -> SweepOutline:
        assert self._outline is not None, "it was begun"
        return self._outline

    def _opened(self) -> _SweepRun:
        """The sweep on the server, found or made at the first call."""
        if self._sweep is None:
            experiment_id = self._name_experiment(self._begun().name)
            parent_id = self._running_parent_in(experiment_id)
            self._sweep = self._sweep_below(experiment_id, parent_id)
        return self._sweep

    def _sweep_below(self, experiment_id: str, parent_id: str) -> _SweepRun:
        """Read which runs a sweep has."""
        sweep = _SweepRun(experiment_id=experiment_id, parent_id=parent_id)
        for run in self._search(experiment_id, f"tags.mlflow.parentRunId = '{parent_id}'"):
            shown, tags = _Shown(run_id=str(run.info.run_id), metrics=run.data.metrics), run.data.tags
            is_whole = run.info.status != "RUNNING"
            if tags.get("outcome") == PREDICTED:
                key = (tags.get("prediction", ""), tags.get("provenance", "")) if is_whole else ("", "")
                sweep.predicted[key].append(shown)
            elif not is_whole:
                sweep.torn[_key_of_run(run)].append(shown.run_id)
            else:
                sweep.whole[_key_of_run(run)] = shown
        return sweep

    def _name_experiment(self, name: str) -> str:
        experiment = self._client.get_experiment_by_name(name)
        if experiment is None:
            experiment_id, tags = self._new_experiment(name), dict[str, str]()
        else:
            experiment_id, tags = str(experiment.experiment_id), experiment.tags
            if experiment.lifecycle_stage == "deleted":  # its name cannot be given to another one
                self._client.restore_experiment(experiment_id)
        for key, value in {NOTE_TAG: tags.get(NOTE_TAG, EXPERIMENT_NOTE), VIEW_TAG: VIEW}.items():
            if tags.get(key) != value:
                self._client.set_experiment_tag(experiment_id, key, value)
        self.experiment_id = experiment_id
        return experiment_id

    def _new_experiment(self, name: str) -> str:
        database = find_database(self._uri)
        # MLflow alone takes a folder in the working directory
        place = str(database.parent / "mlruns" / name) if database else None
        return str(self._client.create_experiment(name, artifact_location=place))

    def _running_parent_in(self, experiment_id: str) -> str:
        """The sweep's run, RUNNING."""
        run_id = self._parent_in(experiment_id)
        if run_id is None:
            return self._new_parent(experiment_id, self._begun().name)
        self._client.update_run(run_id, status="RUNNING")
        return run_id

    def _parent_in(self, experiment_id: str) -> str | None:
        """The sweep's run as it is, if it has one."""
        run_ids = [str(run.info.run_id) for run in self._search(experiment_id, "tags.role = 'sweep'")]
        for other in run_ids[1:]:  # made twice, by one that never heard of the first
            self._discard(other)
        return run_ids[0] if run_ids else None

    def _new_parent(self, experiment_id: str, sweep: str) -> str:
        tags = {"role": "sweep", NOTE_TAG: SWEEP_NOTE, **source_tags()}
        self._client.create_run(experiment_id, tags=tags, run_name=sweep)
        run_id = self._parent_in(experiment_id)
        if run_id is None:
            raise RecordError("a run that was made is not there")
        return run_id

    def _search(self, experiment_id: str, condition: str) -> "Iterator[Run]":
        """Runs that are not deleted, the oldest first."""
        token: str | None = None
        while token != "":
            page = self._client.search_runs(
                [experiment_id], condition, order_by=["attributes.start_time ASC"], page_token=token
            )
            yield from page
            token = page.token or ""

    @contextmanager
    def _survivable(self) -> Iterator[None]:
        """Log and suppress every error of MLflow: a copy must never stop a sweep."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  it raises its own, SQLAlchemy's, Alembic's and requests' errors
            # A refusal concerns one record; anything else will concern the next one as well.
            self._is_refused = getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE"
            self._is_down = not self._is_refused
            if not self._has_warned:
                logger.warning("MLflow at %s failed: %s", without_secrets(self._uri), find_cause(error))
            self._has_warned = True


def _build_data_input(record: TrialRecord) -> "DatasetInput":
    from mlflow.entities import Dataset, DatasetInput, InputTag

    data = find_data(record)
    return DatasetInput(
        dataset=Dataset(
            name=data.name,
            digest=data.digest,
            source_type=data.kind,
            source=data.source,
            profile=data.profile,
        ),
        tags=[
            InputTag("mlflow.data.context", "training"),
            InputTag("is_standin", format_value(data.is_standin)),
        ],
    )


def _key_of_run(run: "Run") -> RunKey:
    tags = run.data.tags
    return tags.get("trial_id", ""), tags.get("attempt", ""), run.info.start_time
