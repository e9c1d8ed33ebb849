"""What an HTTP request says: its keys, its JSON, the model it wants and the fault it asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator.dialects import dialects
from toolbench.simulator.exchange import Model
from toolbench.simulator.failures import Failure, Family, families
from toolbench.simulator.script import read_faults
from toolbench.simulator.wires import Wire

BAD_KEY = "sim-bad-key"
"""The one key that is refused; any other will do."""

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
FAULT_HEADER = "x-simulator-fault"
FAULT_QUERY = "fault"

METHODS = ("generateContent", "streamGenerateContent", "countTokens")
"""What can be asked of a Gemini model."""


@dataclass(frozen=True)
class Target:
    """What a request wants of which model."""

    model: str
    stream: bool = False
    counting: bool = False


def keys_of(http: web.Request) -> set[str]:
    """Return every key that a request carries, wherever a provider takes it."""
    written = [http.headers.get(name, "") for name in KEY_HEADERS] + [http.query.get("key", "")]
    return {word for text in written for word in [text.removeprefix("Bearer ").strip()] if word}


def check_keys(http: web.Request, family: Family) -> None:
    """Refuse a bad key, and a request without one where the provider wants it."""
    keys = keys_of(http)
    if BAD_KEY in keys:
        raise Failure(401)
    if not keys and family.keys == "required":
        raise Failure(403 if family.shape == "gemini" else 401)


def asked_faults(http: web.Request) -> JSON:
    """Return the faults that a request asks for in a header or its query, None without any.

    Raises
    ------
    InputError
        When they cannot be read.
    """
    text = http.headers.get(FAULT_HEADER) or http.query.get(FAULT_QUERY)
    return read_faults(text) if text else None


async def text_of(http: web.Request) -> str:
    """Return the body as text.

    Raises
    ------
    Failure
        413 when it is too large, 400 when it is not UTF-8.
    """
    try:
        return (await http.read()).decode()
    except web.HTTPRequestEntityTooLarge:
        raise Failure(413) from None
    except UnicodeDecodeError:
        raise Failure(400, "The request body is not UTF-8.") from None


def parsed(text: str) -> dict[str, Any]:
    """Return the body as a JSON object.

    Raises
    ------
    Failure
        When it is not one.
    """
    try:
        body = loads_strict(text)
    except StrictJSONError as error:
        raise Failure(400, f"We could not parse the JSON body of your request: {error}") from None
    if not isinstance(body, dict):
        raise Failure(400, "The request body must be a JSON object.")
    return body


def target(http: web.Request, body: dict[str, Any], wire: Wire) -> Target:
    """Return the model that a request wants, and whether a stream, a reply or a count of tokens.

    Raises
    ------
    Failure
        When it names no model, or a method that is not served.
    """
    if "target" not in http.match_info:
        model, stream = body.get("model"), body.get("stream")
        if not isinstance(model, str) or not model:
            raise Failure(400, "model: you must provide a model parameter", param="model")
        if http.path in wire.counts:
            return Target(model, counting=True)
        return Target(model, wire.streams if stream is None else stream is True)
    model, _, method = http.match_info["target"].rpartition(":")
    if method not in METHODS:
        raise Failure(404)
    stream = method == "streamGenerateContent"
    if stream and http.query.get("alt") != "sse":
        raise Failure(400, "simulator: streamGenerateContent is served with alt=sse only")
    return Target(model, stream, method == "countTokens")


def owner(http: web.Request) -> str:
    """Return the protocol of a path that three providers share; two of them have a header of their own."""
    owners = {"anthropic-version": "messages", "x-goog-api-key": "generate_content"}
    return next((name for header, name in owners.items() if header in http.headers), "chat_completions")


async def asked_model(http: web.Request) -> str:
    """Return the id of the one model that is asked for, empty when all are."""
    if http.method == "POST":
        model = parsed(await text_of(http)).get("model")
        if not isinstance(model, str) or not model:
            raise Failure(400, "model is required")
        return model
    return str(http.match_info.get("id", ""))


def visible_models(http: web.Request, protocol: str, models: Iterable[Model], family: Family) -> list[Model]:
    """Return the models that the key of a request may see; without a key, those that need none.

    Raises
    ------
    Failure
        401 for a bad key, or when there is nothing to see.
    """
    keys = keys_of(http)
    if BAD_KEY in keys:
        raise Failure(401)
    seen = [model for model in models if protocol in model.protocols]
    if not keys and protocol == "chat_completions":
        seen = [model for model in seen if families()[dialects()[model.dialect].errors].keys == "none"]
    elif not keys and family.keys == "required":
        seen = []
    if not seen:
        raise Failure(401)
    return seen
