"""A Chromium and playwright for the browser tests; without one of them they are skipped with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.browser.lab import CHROMIUM, chromium


@pytest.fixture
def browser() -> Iterator[Any]:
    """Yield a headless Chromium.

    One for each test: as long as playwright is started its event loop runs in this thread, and no other test
    could start one.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed (pip install playwright; no browser download is needed)")
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Yield a fresh page in a context of its own."""
    context = browser.new_context(viewport={"width": 1480, "height": 1000})
    try:
        yield context.new_page()
    finally:
        context.close()
