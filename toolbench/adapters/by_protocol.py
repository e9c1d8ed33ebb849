"""The adapter of every wire protocol."""

from __future__ import annotations

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.chat_completions import ChatCompletions
from toolbench.adapters.generate_content import GenerateContent
from toolbench.adapters.messages import Messages
from toolbench.adapters.ollama_chat import OllamaChat
from toolbench.adapters.responses import Responses
from toolbench.domain.extensions import extensions_of
from toolbench.errors import ConfigError

ADAPTERS: dict[str, ProviderAdapter] = {
    adapter.protocol: adapter
    for adapter in (ChatCompletions(), Responses(), Messages(), OllamaChat(), GenerateContent())
}


def adapter_for(protocol: str) -> ProviderAdapter:
    """Return the adapter of a protocol.

    Raises
    ------
    ConfigError
        When no adapter speaks it.
    """
    try:
        return ADAPTERS[protocol]
    except KeyError:
        found = extensions_of("adapters").get(protocol)
        if found is not None:
            adapter: ProviderAdapter = found.value
            return adapter
        raise ConfigError(f"no adapter speaks {protocol!r}; there are: {', '.join(ADAPTERS)}") from None
