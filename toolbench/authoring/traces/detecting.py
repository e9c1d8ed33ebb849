"""A file of saved conversations → its conversations, by the shape that each value in it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from toolbench.authoring.importing import read_values
from toolbench.authoring.traces import otel
from toolbench.authoring.traces.exchanges import Exchange, threaded
from toolbench.authoring.traces.inspect_logs import is_inspect, talks_of
from toolbench.authoring.traces.message_logs import exchange_of, is_exchange, is_log, log_of
from toolbench.authoring.traces.saved import Saved
from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError

SHAPES = (
    "a log of messages, requests with their responses, OpenTelemetry spans of the GenAI conventions, "
    "or a log of Inspect"
)
INSIDE = ("conversations", "traces", "data", "records")
"""Where an object around the conversations has them."""


def saved_in(path: Path, key: str | None = None) -> tuple[list[Saved], list[str]]:
    """Return the conversations of a file, and a remark for everything that is none.

    Parameters
    ----------
    key
        Where the id of a conversation's case is: a dotted path, or the attribute of a span.

    Raises
    ------
    SuiteError
        When the file cannot be read or holds no conversation.
    """
    values, remarks = read_values(path)
    if len(values) == 1 and not is_log(values[0]):
        values = _unwrapped(values[0])
    found: list[Saved] = []
    exchanges: list[Exchange] = []
    spans = [value for value in values if otel.is_spans(value)]
    if spans:
        exchanges, told = otel.exchanges_of(spans, path.name, key)
        remarks += told
    for number, value in enumerate(values, 1):
        where = f"{path.name}: record {number}"
        try:
            if is_inspect(value):
                found += talks_of(value, path.name, key)
            elif is_exchange(value):
                exchanges.append(exchange_of(value, where, key))
            elif is_log(value):
                found.append(log_of(value, where, key))
            elif not otel.is_spans(value):
                remarks.append(f"{where}: left out: it is none of {SHAPES}")
        except SuiteError as fault:
            remarks.append(f"{where}: left out: {fault}")
    found = list(_answered([*found, *threaded(exchanges)], remarks))
    if not found:
        why = f": {remarks[0]}" if remarks else f": it is none of {SHAPES}"
        raise SuiteError(f"{path}: no conversation in it{why}")
    return found, remarks


def _unwrapped(value: JSON) -> list[JSON]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        inside = next((value[key] for key in INSIDE if isinstance(value.get(key), list)), None)
        return [value] if inside is None else inside
    return [value]


def _answered(found: list[Saved], remarks: list[str]) -> Iterator[Saved]:
    """Yield the conversations with something to judge."""
    for saved in found:
        if saved.answers:
            yield saved
        else:
            remarks.append(f"{saved.where}: left out: no reply of a model in it")
