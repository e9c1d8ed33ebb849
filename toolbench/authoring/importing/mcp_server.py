"""Tools of a live MCP server, over stdio or streamable HTTP. Its list is asked for; no tool is called."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable
from typing import Any

from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.tool_list import from_values
from toolbench.domain.canonical import JSON, too_deep
from toolbench.errors import SuiteError

SECONDS = 30.0
"""A server has this long to start and to list everything."""
MOST_PAGES = 1000


def import_mcp(source: str, seconds: float = SECONDS) -> Material:
    """Ask a server for its tools.

    Parameters
    ----------
    source
        A command line, or the http(s) address of a streamable HTTP endpoint.
    seconds
        What starting and listing may take together.

    Raises
    ------
    SuiteError
        When the extra ``mcp`` is not installed; when the server cannot be reached, dies, does not answer in
        time, or answers something that is no list of tools.
    """
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise SuiteError(
            "the MCP SDK is not installed; pip install 'toolcall-workbench[mcp]' adds it"
        ) from None
    shown = source.partition("?")[0][:120]
    try:
        server, tools = asyncio.run(asyncio.wait_for(_listed(source), seconds))
    except TimeoutError:
        raise SuiteError(f"{shown}: no list of tools within {seconds:g} s") from None
    except SuiteError:
        raise
    except (Exception, BaseExceptionGroup) as fault:
        raise SuiteError(f"{shown}: {_told(fault)}") from None
    if not tools:
        raise SuiteError(f"{shown}: the server has no tools")
    if too_deep(tools):
        raise SuiteError(f"{shown}: a tool of it is nested too deeply")
    made = from_values([tools], shown)
    return Material(f"tools of the MCP server {server}", made.tools, (), made.remarks, made.outputs)


async def _listed(source: str) -> tuple[str, list[JSON]]:
    """Return the server's name and version, and its tools as they came over the wire."""
    from mcp import Client

    tools: list[JSON] = []
    seen: set[str] = set()
    with open(os.devnull, "w") as nowhere:
        async with Client(_transport(source, nowhere), mode="auto") as client:
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                tools += [_as_sent(tool) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    about = client.server_info
                    return f"{about.name} {about.version}" if about else "(no name)", tools
                if cursor in seen:
                    raise SuiteError(f"{source[:120]}: its list of tools goes round in a circle")
                seen.add(cursor)
    raise SuiteError(f"{source[:120]}: its list of tools has more than {MOST_PAGES} pages")


def _as_sent(tool: Any) -> JSON:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


def _transport(source: str, errors: Any) -> Any:
    from mcp import StdioServerParameters, stdio_client

    if source.startswith(("http://", "https://")):
        return source
    try:
        command, *arguments = shlex.split(source)
    except ValueError as fault:  # an open quotation mark, or nothing at all
        raise SuiteError(f"{source[:120]!r} is neither an address nor a command: {fault}") from None
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    start: Callable[..., Any] = stdio_client
    return start(parameters, errlog=errors)


def _told(fault: BaseException) -> str:
    """Return the first cause in one line; the SDK wraps it in groups."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    text = " ".join(str(fault).split())[:160]
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__
