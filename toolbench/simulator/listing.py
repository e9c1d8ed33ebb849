"""The models, one by one and in pages, in each provider's own shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.simulator.exchange import Model
from toolbench.simulator.failures import Failure

Body = dict[str, Any]
Query = Mapping[str, str]
CREATED = 1795000000
MOMENT = "2026-11-30T00:00:00Z"

PAGES = {"messages": 20, "generate_content": 50}
"""Protocol -> models in a page when a request does not say; see the list methods of the official SDKs."""

LARGEST_PAGE = 1000


@dataclass(frozen=True)
class Listing:
    """How a provider tells of its models: one, or the page that a query asks for."""

    one: Callable[[Model], Body]
    page: Callable[[Sequence[Model], Query], Body]


def openai_model(model: Model) -> Body:
    """Return a model as OpenAI describes it, or Mistral, which says more."""
    told = {"id": model.id, "object": "model", "created": CREATED, "owned_by": "toolbench"}
    if model.dialect != "mistral":
        return told
    offers = {"completion_chat": True, "function_calling": True, "reasoning": model.thinking != "never"}
    return {**told, "type": "base", "capabilities": offers}


def anthropic_model(model: Model) -> Body:
    """Return a model as Anthropic describes it."""
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": MOMENT,
        "lifecycle": "active",
        "max_tokens": 64000,
        "max_input_tokens": 200000,
    }


def ollama_model(model: Model) -> Body:
    """Return a model as Ollama lists it."""
    return {
        "name": model.id,
        "model": model.id,
        "modified_at": MOMENT,
        "size": 1,
        "digest": "0" * 64,
        "details": {
            "format": "gguf",
            "family": "simulator",
            "parameter_size": "1B",
            "quantization_level": "Q4",
        },
    }


def ollama_shown(model: Model) -> Body:
    """Return a model as Ollama shows it alone, with what it can do."""
    offers = {"tools": "tools" not in model.refuses, "thinking": model.thinking != "never"}
    listed = ollama_model(model)
    return {
        **{key: listed[key] for key in ("modified_at", "details")},
        "template": "{{ .Prompt }}",
        "model_info": {"general.architecture": "simulator"},
        "capabilities": ["completion", *(name for name, offered in offers.items() if offered)],
    }


def gemini_model(model: Model) -> Body:
    """Return a model as Gemini describes it."""
    return {
        "name": f"models/{model.id}",
        "version": "1",
        "displayName": model.id,
        "inputTokenLimit": 1048576,
        "outputTokenLimit": 65536,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }


def openai_page(models: Sequence[Model], query: Query) -> Body:
    """Return ``GET /v1/models`` of OpenAI and its like, which has no pages."""
    return {"object": "list", "data": [openai_model(model) for model in models]}


def anthropic_page(models: Sequence[Model], query: Query) -> Body:
    """Return a page of ``GET /v1/models`` of Anthropic, before or after a cursor.

    Raises
    ------
    Failure
        400 for a limit out of range or a cursor that is no model.
    """
    size = _number(query, "limit", PAGES["messages"])
    ids = [model.id for model in models]
    first, last = 0, len(ids)
    if "after_id" in query:
        first = _place(query["after_id"], ids, "after_id") + 1
    if "before_id" in query:
        last = _place(query["before_id"], ids, "before_id")
        first = max(first, last - size)
    page = models[first : min(last, first + size)]
    more = first > 0 if "before_id" in query else first + len(page) < last
    ends = {"first_id": page[0].id if page else None, "last_id": page[-1].id if page else None}
    return {"data": [anthropic_model(model) for model in page], "has_more": more, **ends}


def gemini_page(models: Sequence[Model], query: Query) -> Body:
    """Return a page of ``GET /v1beta/models``.

    Raises
    ------
    Failure
        400 for a size out of range or a token that no page gave.
    """
    size = _number(query, "pageSize", PAGES["generate_content"])
    token = query.get("pageToken", "page-0")
    start = token.removeprefix("page-")
    if not token.startswith("page-") or not start.isdecimal() or int(start) >= max(1, len(models)):
        raise Failure(400, "Invalid page token.")
    end = int(start) + size
    told: Body = {"models": [gemini_model(model) for model in models[int(start) : end]]}
    return told | ({"nextPageToken": f"page-{end}"} if end < len(models) else {})


def ollama_page(models: Sequence[Model], query: Query) -> Body:
    """Return ``GET /api/tags``, which has no pages."""
    return {"models": [ollama_model(model) for model in models]}


def _number(query: Query, name: str, usual: int) -> int:
    text = query.get(name, str(usual))
    if not text.isdecimal() or not 1 <= int(text) <= LARGEST_PAGE:
        raise Failure(400, f"{name}: must be between 1 and {LARGEST_PAGE}", param=name)
    return int(text)


def _place(cursor: str, ids: Sequence[str], name: str) -> int:
    if cursor not in ids:
        raise Failure(400, f"{name}: {cursor!r} is not a model", param=name)
    return ids.index(cursor)


LISTINGS: dict[str, Listing] = {
    "chat_completions": Listing(openai_model, openai_page),
    "messages": Listing(anthropic_model, anthropic_page),
    "ollama_chat": Listing(ollama_shown, ollama_page),
    "generate_content": Listing(gemini_model, gemini_page),
}
"""Protocol -> how its models are told; Responses shares the list of Chat Completions."""
