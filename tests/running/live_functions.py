"""Functions of the tests that a suite may call, and one that it may not."""

import time

from toolbench import live_tool


@live_tool
def look(id: str) -> dict[str, str]:
    print("this is no answer")
    return {"id": id, "state": "on"}


@live_tool
async def switch(id: str) -> str:
    return f"{id} is off"


@live_tool
def slow(id: str) -> str:
    time.sleep(60)
    return id


@live_tool
def broken(id: str) -> str:
    raise ValueError(f"no lamp {id}")


@live_tool
def strange(id: str) -> object:
    return object()


def hidden(id: str) -> str:
    return id
