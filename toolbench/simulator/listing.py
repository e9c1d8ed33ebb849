"""The lists of models, in each provider's own shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolbench.simulator.conversation import Model

Body = dict[str, Any]
CREATED = 1795000000
MOMENT = "2026-11-30T00:00:00Z"


def openai_model(model: Model) -> Body:
    """Return a model as OpenAI describes it."""
    return {"id": model.id, "object": "model", "created": CREATED, "owned_by": "toolbench"}


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
    """Return a model as Ollama describes it."""
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


def gemini_model(model: Model) -> Body:
    """Return a model as Gemini describes it."""
    return {
        "name": f"models/{model.id}",
        "version": "1",
        "displayName": model.id,
        "inputTokenLimit": 1048576,
        "outputTokenLimit": 65536,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
    }


def openai_list(models: Iterable[Model]) -> Body:
    """Return ``GET /v1/models`` of OpenAI and its like."""
    return {"object": "list", "data": [openai_model(model) for model in models]}


def anthropic_list(models: Iterable[Model]) -> Body:
    """Return ``GET /v1/models`` of Anthropic."""
    data = [anthropic_model(model) for model in models]
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": False, **ends}


def ollama_list(models: Iterable[Model]) -> Body:
    """Return ``GET /api/tags``."""
    return {"models": [ollama_model(model) for model in models]}


def gemini_list(models: Iterable[Model]) -> Body:
    """Return ``GET /v1beta/models``."""
    return {"models": [gemini_model(model) for model in models]}


LISTS: dict[str, Callable[[Iterable[Model]], Body]] = {
    "chat_completions": openai_list,
    "messages": anthropic_list,
    "ollama_chat": ollama_list,
    "generate_content": gemini_list,
}
"""Protocol -> writer of its list of models."""
