"""Putting a planned reply on the wire, or tearing the connection down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from toolbench.domain.canonical import JSON
from toolbench.simulator.mishaps import HTML_PAGE, Transmission
from toolbench.simulator.streaming import dumps

Pause = Callable[[float], Awaitable[None]]


def json_response(body: JSON, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a whole reply."""
    return web.Response(body=dumps(body), status=status, headers=headers, content_type="application/json")


def page(status: int) -> web.Response:
    """Return what a proxy says that does not speak JSON."""
    return web.Response(body=HTML_PAGE, status=status, content_type="text/html", charset="latin-1")


def torn(http: web.Request) -> web.StreamResponse:
    """Close the connection without a word."""
    if http.transport is not None:
        http.transport.abort()
    return web.StreamResponse()


async def send(
    http: web.Request, plan: Transmission, headers: Mapping[str, str], pause: Pause
) -> web.StreamResponse:
    """Send a plan's chunks, unless the client leaves before the end."""
    response = web.StreamResponse(headers={**headers, "content-type": plan.content_type})
    response.content_length = plan.length
    try:
        await response.prepare(http)
        for number, chunk in enumerate(plan.chunks):
            if number:
                # Also without a pause the loop gets its turn, so that chunks leave one by one.
                await pause(plan.pause_s)
            await response.write(chunk)
        if plan.aborts:
            return torn(http)
        await response.write_eof()
    except ConnectionError:
        return response
    return response
