"""The table of sources: what can be imported by name, and by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from toolbench.authoring.importing.functions import import_module_functions
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.mcp_server import import_mcp
from toolbench.authoring.importing.openapi import import_openapi
from toolbench.authoring.importing.tool_list import import_tool_list
from toolbench.domain.extensions import extensions_of
from toolbench.errors import SuiteError


class Source(NamedTuple):
    """One kind of source: what it takes, what that is called, and what reads it."""

    takes: str
    read: Callable[[str], Material]


SOURCES: Mapping[str, Source] = {
    "openai-tools": Source("FILE", import_tool_list),
    "python": Source("MODULE[:FUNC,…]", import_module_functions),
    "openapi": Source("FILE", import_openapi),
    "mcp": Source("'COMMAND …' or URL", import_mcp),
}
"""Sources of tools by name."""


def sources() -> Mapping[str, Source]:
    """Return all sources by name, those of extensions included."""
    return {
        **SOURCES,
        **{name: Source("SOURCE", one.value) for name, one in extensions_of("importers").items()},
    }


def read_source(text: str) -> Material:
    """Read ``kind:rest``, for example ``mcp:python server.py``; a file name alone is a list of tools.

    Raises
    ------
    SuiteError
        For a kind that is unknown, or a source that cannot be read.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in (known := sources()):
        return known[kind].read(rest.strip())
    if text.endswith(".json"):
        return import_tool_list(text)
    forms = ", ".join(f"{name}:{source.takes}" for name, source in sources().items())
    raise SuiteError(f"{text[:80]!r}: no source that is known; write one of {forms}")
