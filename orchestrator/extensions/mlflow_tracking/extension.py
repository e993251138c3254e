"""The extension: MLflow, which shows sweeps, trials and their metrics."""

from orchestrator.extension import Extension

EXTENSION = Extension(
    name="mlflow_tracking", tracking_server="orchestrator.extensions.mlflow_tracking.server:MlflowServer"
)
