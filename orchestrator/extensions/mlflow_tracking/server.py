"""An MLflow server, or a database that `mlflow ui` shows."""

import http.client
from urllib.parse import urlsplit

from orchestrator.core.placement import Plan
from orchestrator.core.printable import without_secrets
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_answer import explain_silence, require_address
from orchestrator.extensions.mlflow_tracking.mlflow_client import (
    INSTALL,
    VARIABLE,
    find_database,
    name_source,
)
from orchestrator.extensions.mlflow_tracking.page import page_lines
from orchestrator.plan.machine_state import ServiceState
from orchestrator.record.tracking.tracker import Tracker
from orchestrator.train.environment import find_package_version

_SECONDS = 5.0


class MlflowServer:
    """MLflow as a `record.tracking.tracker.TrackingServer`; it is imported when it is first asked."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    @property
    def is_on_this_host(self) -> bool:
        """True for a database file."""
        return find_database(self._uri) is not None

    def open_tracker(self) -> Tracker:
        """Open the tracker that copies records to it."""
        from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore

        return MlflowStore(self._uri)

    def describe_source(self) -> tuple[str, ...]:
        """Show that MLflow's variable sets its address; nothing where it does not."""
        if name_source(self._uri) != VARIABLE:
            return ()
        return (f"MLflow: {without_secrets(self._uri)}, set by {VARIABLE}",)

    def explain_silence(self) -> str | None:
        """Explain why it does not answer now; None: it does.

        Raises:
            ConfigError, RecordError: it never can.
        """
        silence = explain_silence(self._uri)
        return silence and (
            f"MLflow at {without_secrets(self._uri)} does not answer: {silence}; records are kept here, and "
            f"`sync` sends them; tracking=none does without"
        )

    def find_state(self) -> ServiceState:
        """Find the installed version, and why the server does not answer.

        Raises:
            ConfigError, RecordError: it never can.
        """
        require_address(self._uri)
        version = find_package_version("mlflow")
        if version is None:
            return ServiceState(name="MLflow", version=None, failure=f"MLflow is not installed; {INSTALL}")
        return ServiceState(name="MLflow", version=version, failure=self._find_failure())

    def _find_failure(self) -> str | None:
        """Return why a server does not answer; None for one that does, and for a database."""
        parts, shown = urlsplit(self._uri), without_secrets(self._uri)
        if parts.scheme not in ("http", "https"):
            return None
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(parts.netloc.rpartition("@")[2], timeout=_SECONDS)
            connection.request("GET", f"{parts.path.rstrip('/')}/health")
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = type(error).__name__
            return f"MLflow does not answer at {shown} ({cause}); start it, or set tracking=none"
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"MLflow at {shown} answers {status}; look at its log, or set tracking=none"
        return None

    def read_sweep(self, sweep: str) -> tuple[tuple[TrialRecord, ...], Plan]:
        """Read the records of a sweep, and the plan of its report. Raises RecordError."""
        from orchestrator.extensions.mlflow_tracking.mlflow_read import read_sweep

        return read_sweep(self._uri, sweep=sweep)

    def find_experiment_id(self, sweep: str) -> str | None:
        """Find the experiment of a sweep. Raises RecordError."""
        from orchestrator.extensions.mlflow_tracking.mlflow_read import find_experiment_id

        return find_experiment_id(self._uri, sweep=sweep)

    def list_pages(self, experiment_id: str) -> tuple[str, ...]:
        """List the addresses of a sweep's measured trials."""
        return page_lines(self._uri, experiment_id=experiment_id)
