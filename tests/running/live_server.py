"""A live MCP server of the tests, written with the official SDK: ``live_server.py [PORT]``."""

import asyncio
import os
import sys
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
NAMES = ("lamp.state", "switch", "slow", "broken", "dies", "secret", "long")


async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=name, input_schema=ID) for name in NAMES]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    lamp = (params.arguments or {})["id"]
    if params.name == "slow":
        await asyncio.sleep(60)
    if params.name == "dies":
        os._exit(7)
    texts = {
        "lamp.state": f'{{"id": "{lamp}", "state": "on"}}',
        "switch": f"Lamp {lamp} is now\noff.",
        "broken": "the fuse is blown",
        "secret": f"the key is {os.environ.get('LAMP_KEY', 'unknown')}",
        "long": "x" * 20_000,
    }
    if params.name == "switch" and "LAMP_LOG" in os.environ:
        with open(os.environ["LAMP_LOG"], "a") as log:
            log.write(lamp + "\n")
    content: Any = [types.TextContent(type="text", text=texts[params.name])]
    return types.CallToolResult(content=content, is_error=params.name == "broken")


async def over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    made: Server[Any] = Server("lamps", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if len(sys.argv) > 1:
        import uvicorn

        app = made.streamable_http_app()
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
    else:
        asyncio.run(over_stdio(made))
