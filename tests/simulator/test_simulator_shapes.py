"""The compiled form of a request's schema accepts exactly what the schema accepts."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.simulator.simulator_bodies import URLS, first_turn
from toolbench.simulator.dialects import dialect_shape, dialects
from toolbench.simulator.structure import Shape, shape

SPOILT: tuple[Any, ...] = (None, "x", "", 1, 1.0, 1.5, -1, True, [], {}, [None], {"x": 1}, [1, "a"])

SHAPES: dict[str, tuple[str, Shape]] = {
    **{name: (name, shape(name)) for name in URLS},
    **{name: ("chat_completions", dialect_shape(name)) for name in dialects()},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, child in children:
        yield from places(child, (*path, step))


def variants(body: dict[str, Any]) -> Iterator[Any]:
    """Yield the body with every place of it spoilt in every way, left out, or beside an unknown field."""
    for path in places(body):
        if not path:
            continue
        for spoilt in (*SPOILT, "left out", "joined"):
            changed = deepcopy(body)
            target = changed
            for step in path[:-1]:
                target = target[step]
            if spoilt == "left out":
                del target[path[-1]]
            elif spoilt == "joined":
                if not isinstance(target, dict):
                    continue
                target["nobody_knows_this"] = 1
            else:
                target[path[-1]] = spoilt
            yield changed


@pytest.mark.parametrize(("protocol", "known"), SHAPES.values(), ids=SHAPES)
def test_both_forms_accept_the_same(protocol: str, known: Shape) -> None:
    seen = {True: 0, False: 0}
    for body in variants(first_turn(protocol)):
        walked = known.walked(body)
        assert bool(known.faults(body)) == bool(walked), body
        seen[bool(walked)] += 1
    assert min(seen.values()) > 20
