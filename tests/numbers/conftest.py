"""One real run of the baselines, made once: delivery, both languages, three conditions, three repetitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.numbers.support import PRICE, renamed
from tests.support import ROOT
from toolbench.domain.config import Config
from toolbench.domain.suite import find_suite
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.running.runner import run_matrix_sync


@pytest.fixture(scope="session")
def base_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the four baselines on the base cases."""
    folder = tmp_path_factory.mktemp("numbers") / "base"
    data = {
        "runs": [],
        "conditions": ["auto", "reversed", "no_tools"],
        "repetitions": 3,
        "cases": {"tags": ["base"]},
    }
    config = Config.from_json(data, "inline", ROOT)
    run_matrix_sync(config, [find_suite(ROOT, "delivery")], folder)
    return folder


@pytest.fixture(scope="session")
def base(base_run: Path) -> ScoredRun:
    """The same run, judged."""
    return load_run(base_run)


@pytest.fixture(scope="session")
def priced_run(base_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two priced models beside the baselines: ``acme/strong`` and ``acme/cheap``."""
    folder = tmp_path_factory.mktemp("numbers") / "priced"
    models = {"keyword_router": "strong", "random_tool": "cheap"}
    return renamed(base_run, folder, models, PRICE)


@pytest.fixture(scope="session")
def priced(priced_run: Path) -> ScoredRun:
    """The same run, judged."""
    return load_run(priced_run)
