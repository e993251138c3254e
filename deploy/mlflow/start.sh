#!/bin/sh
# Start MLflow's server. Secrets are files, named as below, in SECRETS; DATABASE is what follows the @ of a
# PostgreSQL address, as database/mlflow. What else it takes are MLflow's own variables: MLFLOW_HOST, MLFLOW_PORT,
# MLFLOW_ARTIFACTS_DESTINATION, MLFLOW_SERVER_ALLOWED_HOSTS.
set -eu
: "${SECRETS:=/run/secrets}" "${DATABASE:?}" "${MLFLOW_ARTIFACTS_DESTINATION:?}"

secret() { cat "$SECRETS/$1"; }

MLFLOW_BACKEND_STORE_URI="postgresql+psycopg2://mlflow:$(secret database_password)@$DATABASE"
MLFLOW_AUTH_ADMIN_PASSWORD="$(secret admin_password)"
MLFLOW_FLASK_SERVER_SECRET_KEY="$(secret session_key)"
if [ -e "$SECRETS/object_store_key" ]; then
    AWS_ACCESS_KEY_ID=mlflow
    AWS_SECRET_ACCESS_KEY="$(secret object_store_key)"
    export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
fi

umask 077
MLFLOW_AUTH_CONFIG_PATH="$(mktemp)"
cat > "$MLFLOW_AUTH_CONFIG_PATH" <<END
[mlflow]
default_permission = READ
database_uri = $MLFLOW_BACKEND_STORE_URI
admin_username = admin
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
END

# Eight processes of 250 MB for jobs of MLflow's own language-model tools, which nothing here sends.
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION="${MLFLOW_SERVER_ENABLE_JOB_EXECUTION:-false}"

export MLFLOW_BACKEND_STORE_URI MLFLOW_AUTH_ADMIN_PASSWORD MLFLOW_FLASK_SERVER_SECRET_KEY MLFLOW_AUTH_CONFIG_PATH
exec mlflow server --app-name basic-auth
