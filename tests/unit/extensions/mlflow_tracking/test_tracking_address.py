"""The address of a tracking server or database is read in one way, which is SQLAlchemy's."""

from pathlib import Path

import pytest

from orchestrator.extensions.mlflow_tracking.mlflow_client import absolute, find_database

URIS = [
    "sqlite:///a.db?timeout=5",
    "sqlite:///a?b.db",
    "sqlite:////x/a.db",
    "sqlite:///a.db",
    "sqlite:///a%20b%3F.db",
]


@pytest.mark.parametrize("uri", URIS)
def test_the_file_is_the_one_that_the_database_is_opened_as(uri):
    """The template was copied to a file with the options in its name, and the data went into another."""
    url = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed").make_url(uri)
    assert find_database(uri) == Path(url.database)


@pytest.mark.parametrize("uri", URIS)
def test_the_absolute_address_has_the_options_still(uri):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    url, place = sqlalchemy.make_url(uri), sqlalchemy.make_url(absolute(uri))
    assert Path(place.database) == Path(url.database).absolute()
    assert place.query == url.query
