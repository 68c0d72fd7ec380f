"""One empty MLflow store for all tests of this folder: making it takes seconds, copying nothing."""

import shutil

import pytest

from experiments.records.tracking import tracker


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    tracker(f"sqlite:///{folder}/mlflow.db", folder).prepare()
    return folder / "mlflow.db"


@pytest.fixture(scope="module")
def results(tmp_path_factory, empty_store):
    """A folder of results with an empty store, for all tests of one file."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copy(empty_store, folder / "mlflow.db")
    return folder
