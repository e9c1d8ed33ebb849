"""Keys out of everything that is kept: by value wherever they occur, by name in headers."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from toolbench.domain.config import Config, ModelConfig
from toolbench.errors import ConfigError

REDACTED = "[redacted]"
KEPT_HEADERS = re.compile(
    r"^(x-request-id|request-id|mistral-correlation-id|retry-after(-ms)?|x-should-retry|(x-|anthropic-)?ratelimit-.*"
    r"|x-ratelimit-.*|openai-processing-ms|date|content-type)$"
)
_SHORTEST_SECRET = 6


class Redactor:
    """Replaces known secret values, and their URL-quoted and base64 forms, in any text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                encoded = base64.b64encode(secret.encode()).decode()
                forms |= {secret, quote(secret, safe=""), quote_plus(secret), encoded, encoded.rstrip("=")}
        # Longest first, so that no form leaves the tail of a longer one behind.
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._pattern = re.compile(pattern) if pattern else None

    def __call__(self, text: str) -> str:
        """Return the text without any known secret."""
        return self._pattern.sub(REDACTED, text) if self._pattern else text

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the response headers worth keeping, lower-cased and redacted."""
        return {
            name.lower(): self(value) for name, value in headers.items() if KEPT_HEADERS.match(name.lower())
        }


def key_of(model: ModelConfig) -> str | None:
    """Return a model's key from the environment.

    Raises
    ------
    ConfigError
        When the named variable is not set.
    """
    if model.api_key_env is None:
        return None
    return _variable(model.api_key_env, model)


def extra_headers(model: ModelConfig) -> dict[str, str]:
    """Return a model's configured headers with ``env:NAME`` values read from the environment."""
    return {
        name: _variable(value[4:], model) if value.startswith("env:") else value
        for name, value in model.headers.items()
    }


def redactor_for(config: Config) -> Redactor:
    """Return a redactor that knows every secret the configuration refers to and its address passwords."""
    secrets: list[str] = []
    for model in config.runs:
        names = [model.api_key_env] if model.api_key_env else []
        names += [value[4:] for value in model.headers.values() if value.startswith("env:")]
        secrets += [os.environ.get(name, "") for name in names]
        userinfo = re.match(r"https?://([^/@]+)@", model.base_url)
        if userinfo:
            secrets += [userinfo.group(1), userinfo.group(1).partition(":")[2]]
        secrets += re.findall(r"[?&][^=&]*=([^&]+)", model.base_url)
    return Redactor(secrets)


def _variable(name: str, model: ModelConfig) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"runs: {model.provider}/{model.model}: the environment variable {name} is not set")
    return value
