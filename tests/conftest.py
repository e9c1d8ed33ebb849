"""The real local model, where it can be had."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from toolbench.errors import ServingError
from toolbench.local.weights import ensure


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
