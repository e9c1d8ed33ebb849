"""Requests with their responses → conversations: a request that repeats an earlier exchange continues it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolbench.adapters import ADAPTERS
from toolbench.authoring.traces.saved import Answered, Asked, Returned, Saved, Step
from toolbench.domain.canonical import JSON, StrictJSONError, canonical_json, loads_strict, sha256


@dataclass(frozen=True)
class Exchange:
    """One request and its reply; the last step of ``saved`` is the reply, those before it the history.

    ``scope`` is the id of the trace or conversation that it says it belongs to; ``reply_id`` the reply's own,
    ``after`` that of an earlier reply which the server remembers instead of the history. ``results`` are
    what tools returned afterwards, kept elsewhere than in the next request.
    """

    saved: Saved
    scope: str = ""
    reply_id: str = ""
    after: str = ""
    results: Sequence[Returned] = ()


def threaded(exchanges: Iterable[Exchange]) -> list[Saved]:
    """Join exchanges, in the order they were made.

    Where the same words were exchanged twice, a later request continues the older of both that nothing has
    continued yet. Replies keep what their own exchange knows: the body as it came, its time and its usage.
    """
    talks: list[Saved] = []
    results: list[Sequence[Returned]] = []
    open_at: dict[tuple[str, str], list[int]] = defaultdict(list)
    for exchange in exchanges:
        saved = exchange.saved
        history = saved.steps[:-1]
        marks = list(_marks(saved))
        last = max((at for at, step in enumerate(history) if isinstance(step, Answered)), default=-1)
        before = exchange.after or (marks[last] if last >= 0 else "")
        waiting = open_at.get((exchange.scope, before)) if before else None
        if waiting:
            at = waiting.pop(0)
            steps = (*talks[at].steps, *saved.steps[last + 1 :])
            tools = talks[at].tools if saved.tools is None else saved.tools
            talks[at] = replace(talks[at], steps=steps, tools=tools, key=talks[at].key or saved.key)
            results[at] = exchange.results
        else:
            at = len(talks)
            talks.append(saved)
            results.append(exchange.results)
        for mark in {marks[-1], exchange.reply_id} - {""}:
            open_at[exchange.scope, mark].append(at)
    return [replace(talk, steps=(*talk.steps, *more)) for talk, more in zip(talks, results, strict=True)]


def _marks(saved: Saved) -> Iterable[str]:
    """Yield a hash of everything up to each step; two models may well say the same."""
    mark = saved.model
    for step in saved.steps:
        mark = sha256([mark, _content(step)])
        yield mark


def _content(step: Step) -> JSON:
    if isinstance(step, Asked):
        return ["user", step.text]
    if not isinstance(step, Answered):
        return ["tool", step.content]
    reading = ADAPTERS[step.protocol].read(step.body)
    calls = [[str(call.name), _one_spelling(call.arguments)] for call in reading.calls]
    return ["assistant", reading.text.strip(), calls]


def _one_spelling(arguments: JSON) -> str:
    """Return arguments so that an object and the text of the same object are equal."""
    if isinstance(arguments, str):
        try:
            arguments = loads_strict(arguments)
        except StrictJSONError:
            return str(arguments)
    try:
        return canonical_json(arguments)
    except ValueError:
        return json.dumps(arguments, default=str)
