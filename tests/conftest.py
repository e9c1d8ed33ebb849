"""The real local model, where it can be had, and what lets two workers end at the same time."""

import gc
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from toolbench.errors import ServingError
from toolbench.local.weights import ensure

LONG = ("notebooks", "installed", "browser", "running", "torture", "selfcheck", "faults", "local")
"""Folders of tests that take seconds each: begun first, so that none is left over at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long ones first; within a folder the order stays."""
    items.sort(key=lambda item: item.path.parts[-2] not in LONG)


def pytest_collection_finish() -> None:
    """Take what was collected out of the collector's sight: it stays for good, and is large."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def have_weights() -> Callable[[str], str]:
    """A function that returns the name of a model that can be served here, or skips the test."""

    def check(name: str) -> str:
        if find_spec("xllamacpp") is None:
            pytest.skip("xllamacpp is not installed")
        try:
            ensure(name, progress=False)
        except ServingError as error:
            pytest.skip(f"no weights: {error}")
        return name

    return check


@pytest.fixture(scope="session")
def smollm2(have_weights: Callable[[str], str]) -> str:
    return have_weights("smollm2-135m-instruct")
