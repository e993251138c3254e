"""Where to see a sweep in MLflow, in one line. Pure."""

from shlex import quote

from orchestrator.record.tracking.mlflow_client import database_of, without_secrets

_LOCAL = "http://127.0.0.1:5000"  # where `mlflow ui` listens


def page_line(uri: str, *, experiment_id: str) -> str:
    """Return the address of a sweep's runs on a server, or the command that shows those of a database.

    MLflow 3 opens an experiment as one of language models; the address asks for its pages of training runs.
    """
    page = f"/#/experiments/{experiment_id}/runs?workflowType=machine_learning"
    if database_of(uri):
        return f"MLflow: mlflow ui --backend-store-uri {quote(uri)}, then {_LOCAL}{page}"
    return f"MLflow: {without_secrets(uri).rstrip('/')}{page}"
