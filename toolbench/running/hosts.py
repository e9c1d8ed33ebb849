"""Where live tools run: a child process with Python functions, or an MCP server over stdio or HTTP.

A host is opened at its first call and belongs to one attempt, so that attempts do not see each other. A call
that takes too long ends the host; the next call opens another one.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.tool_script import Failure, Success, ToolError, ToolScript
from toolbench.errors import ConfigError, SuiteError, TransportError

LARGEST = 2_000_000
"""Characters of one result; what is longer is an error of the tool."""
GONE = "tool_server"
"""Code of an attempt whose tools could not be reached: nobody's fault that a judge looks for."""


class Host(ABC):
    """Carries out calls of live tools, one after another."""

    def __init__(self, script: ToolScript) -> None:
        self.script = script

    @abstractmethod
    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> Success | Failure:
        """Carry out a call.

        Raises
        ------
        TransportError
            When the tools cannot be reached at all.
        """

    @abstractmethod
    async def missing(self, tools: Sequence[str]) -> list[str]:
        """Return, each with a reason, the tools that are not there."""

    @abstractmethod
    async def close(self) -> None:
        """End it."""


@asynccontextmanager
async def host_of(script: ToolScript) -> AsyncIterator[Host]:
    """Yield the host of a live executor and end it afterwards."""
    host: Host = PythonHost(script) if script.kind == "python" else McpHost(script)
    try:
        yield host
    finally:
        await host.close()


def failed(code: str, message: str, permanent: bool = False) -> Failure:
    """Return an error a live tool answers with."""
    return Failure(ToolError(code=code, permanent=permanent, message=message))


class PythonHost(Host):
    """Registered functions in a child process."""

    _process: asyncio.subprocess.Process | None = None

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> Success | Failure:
        """Call the function of a tool."""
        reply = await self._asked(self.script.callables[tool], dict(arguments))
        if reply is None:
            return failed("TIMEOUT", f"no answer within {self.script.timeout_seconds:g} s")
        if "refused" in reply:
            raise TransportError(GONE, reply["refused"])
        if "error" in reply:
            return failed("TOOL_ERROR", reply["error"], permanent=True)
        return Success(reply["ok"])

    async def missing(self, tools: Sequence[str]) -> list[str]:
        """Import the functions without calling any."""
        found = [
            f"{tool}: executor.json names no function" for tool in tools if tool not in self.script.callables
        ]
        for tool in (tool for tool in tools if tool in self.script.callables):
            reply = await self._asked(self.script.callables[tool], None)
            if reply is None or "refused" in reply:
                found.append(reply["refused"] if reply else f"{tool}: its module takes too long to import")
        return found

    async def close(self) -> None:
        """Kill the child."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _asked(self, target: str, arguments: dict[str, JSON] | None) -> dict[str, Any] | None:
        process = self._process = self._process or await self._started()
        assert process.stdin is not None, "piped"
        assert process.stdout is not None, "piped"
        line = b""
        try:
            async with asyncio.timeout(self.script.timeout_seconds):
                request = json.dumps({"target": target, "arguments": arguments}, ensure_ascii=False)
                process.stdin.write(request.encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
        except TimeoutError:
            await self.close()
            return None
        except (ValueError, ConnectionError):
            # A line beyond the limit, or a child that is gone.
            pass
        if not line:
            await self.close()
            return {"error": f"the process ended or answered more than {LARGEST} characters"}
        found: dict[str, Any] = json.loads(line)
        return found

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolbench.running.python_child"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LARGEST,
        )


class McpHost(Host):
    """A server, spoken to by a task of its own: a connection has to be closed where it was opened."""

    _task: asyncio.Task[None] | None = None

    def __init__(self, script: ToolScript) -> None:
        super().__init__(script)
        self._calls: asyncio.Queue[tuple[str, dict[str, JSON], asyncio.Future[Any]]] = asyncio.Queue()

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> Success | Failure:
        """Call a tool of the server."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            return _result(await self._asked(self._name(tool), dict(arguments)))
        except TimeoutError:
            await self.close()
            return failed("TIMEOUT", f"no answer within {self.script.timeout_seconds:g} s")
        except MCPError as fault:
            if fault.code == CONNECTION_CLOSED:
                await self.close()
                raise TransportError(GONE, f"{self.script.shown_server}: the server has ended") from None
            return failed("TOOL_ERROR", first_cause(fault), permanent=True)
        except (Exception, BaseExceptionGroup) as fault:
            await self.close()
            raise TransportError(GONE, f"{self.script.shown_server}: {first_cause(fault)}") from None

    async def missing(self, tools: Sequence[str]) -> list[str]:
        """Ask for the list of tools."""
        try:
            there = await self._asked("", {})
        except TimeoutError:
            return [f"{self.script.shown_server}: no answer within {self.script.timeout_seconds:g} s"]
        except (Exception, BaseExceptionGroup) as fault:
            return [f"{self.script.shown_server}: {first_cause(fault)}"]
        absent = (name for name in map(self._name, tools) if name not in there)
        return [f"{self.script.shown_server}: has no tool {name}" for name in absent]

    async def close(self) -> None:
        """Close the connection, and with it the server's process."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _name(self, tool: str) -> str:
        return self.script.names.get(tool, tool)

    async def _asked(self, tool: str, arguments: dict[str, JSON]) -> Any:
        task = self._task = self._task or asyncio.create_task(self._serve())
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self._calls.put((tool, arguments, answer))
        async with asyncio.timeout(self.script.timeout_seconds):
            await asyncio.wait({task, answer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            # The connection has ended under the call, or never came about.
            await task
            raise ConnectionError("the server has ended")
        return answer.result()

    async def _serve(self) -> None:
        from mcp import Client, MCPError

        with open(os.devnull, "w") as nowhere:
            async with _transport(self.script, nowhere) as way, Client(way, mode="auto") as client:
                while True:
                    tool, arguments, answer = await self._calls.get()
                    try:
                        found = await (client.call_tool(tool, arguments) if tool else _names(client))
                    except MCPError as fault:
                        answer.set_exception(fault)
                    else:
                        answer.set_result(found)


async def _names(client: Any) -> set[str]:
    names: set[str] = set()
    cursor: str | None = None
    for _ in range(1000):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        names |= {tool.name for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return names


@asynccontextmanager
async def _transport(script: ToolScript, errors: Any) -> AsyncIterator[Any]:
    """Yield the way to a server, as the SDK's client takes it."""
    from mcp import StdioServerParameters, stdio_client

    if script.server.startswith(("http://", "https://")):
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(script.timeout_seconds)
        async with httpx2.AsyncClient(headers=dict(_headers(script)), timeout=timeout) as http:
            yield streamable_http_client(script.server, http_client=http)
        return
    command, *arguments = shlex.split(script.server)
    variables = {name: os.environ[name] for name in ("PATH", "HOME", *script.env) if name in os.environ}
    yield stdio_client(StdioServerParameters(command=command, args=arguments, env=variables), errlog=errors)


def _headers(script: ToolScript) -> Mapping[str, str]:
    """Return the headers with ``env:NAME`` values read from the environment."""
    return {
        name: variable(value[4:]) if value.startswith("env:") else value
        for name, value in script.headers.items()
    }


def variable(name: str) -> str:
    """Return an environment variable that an executor names.

    Raises
    ------
    ConfigError
        When it is not set.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"executor.json: the environment variable {name} is not set")
    return value


def _result(answer: Any) -> Success | Failure:
    """Return what a server answered: the text as a model would be handed it, and the structure behind it."""
    parts = [getattr(part, "text", None) or f"[{part.type}]" for part in answer.content]
    text = "\n".join(parts)
    if len(text) > LARGEST:
        return failed("RESULT_TOO_LARGE", f"the result has {len(text)} characters", permanent=True)
    if answer.is_error:
        return failed("TOOL_ERROR", text or "the tool reports an error", permanent=True)
    value: JSON = text
    with suppress(StrictJSONError):
        value = loads_strict(text)
    if not text:
        value = answer.structured_content
        text = json.dumps(value, ensure_ascii=False)
    return Success(value, text=text)


def first_cause(fault: BaseException) -> str:
    """Return the first cause in one line; the SDK wraps it in groups."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    text = " ".join(str(fault).split())[:200]
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


async def check_live(script: ToolScript, tools: Sequence[str], suite: str) -> None:
    """See that everything a live executor needs is there, before the first attempt.

    Raises
    ------
    SuiteError
        Naming the suite and the first thing that is not.
    """
    if script.kind == "mcp":
        try:
            import mcp  # noqa: F401
        except ImportError:
            told = "the MCP SDK is not installed; pip install 'toolcall-workbench[mcp]' adds it"
            raise SuiteError(told) from None
    for name in (value[4:] for value in script.headers.values() if value.startswith("env:")):
        variable(name)
    async with host_of(script) as host:
        missing = await host.missing(tools)
    if missing:
        raise SuiteError(f"suite {suite}: {missing[0]}")
