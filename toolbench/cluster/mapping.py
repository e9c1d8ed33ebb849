"""One function on many pieces of work, on the workers of a cluster."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from toolbench.cluster.connection import connected, gone
from toolbench.errors import ClusterError, ToolbenchError

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 2
"""Pieces a thread of a worker that are on their way at once: one is worked on, one waits."""


def in_order(
    address: str,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    done: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Return what a function makes of each item, in order; ``done`` is called with each as it comes.

    Items are made and sent no faster than they are worked on. What a lost worker had is done by another.

    Raises
    ------
    ClusterError
        When the scheduler or its workers are away or cannot be used.
    """
    work = _in_order(address, function, iter(items), done)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as apart:
        # A notebook's own loop is running, and waits for us.
        return apart.submit(asyncio.run, work).result()


async def _in_order(
    address: str, function: Callable[[Item], Result], items: Iterator[Item], done: Callable[[Result], None]
) -> list[Result]:
    results: list[Result] = []
    async with connected(address) as client:
        threads = sum((await client.nthreads()).values())
        pending = deque(client.submit(function, one, pure=False) for one in islice(items, AHEAD * threads))
        while pending:
            try:
                results.append(await pending.popleft())
            except ToolbenchError:
                raise
            except Exception as fault:
                if client.status != "running":
                    raise gone(address) from None
                told = " ".join(str(fault).split())[:200]
                raise ClusterError(f"{address}: a piece of work failed there: {told}") from None
            done(results[-1])
            pending.extend(client.submit(function, one, pure=False) for one in islice(items, 1))
    return results
