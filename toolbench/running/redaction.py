"""Keys out of everything that is kept: by value wherever they occur, by name in headers."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, unquote, urlsplit

from toolbench.domain.config import Config, ModelConfig
from toolbench.errors import ConfigError

REDACTED = "[redacted]"
KEPT_HEADERS = re.compile(
    r"^(x-request-id|request-id|mistral-correlation-id|retry-after(-ms)?|x-should-retry|(x-|anthropic-)?ratelimit-.*"
    r"|x-ratelimit-.*|openai-processing-ms|date|content-type)$"
)
_SHORTEST_SECRET = 6


class Redactor:
    """Replaces known secret values in any text, also URL-quoted, base64 and escaped as JSON strings are.

    Parameters
    ----------
    secrets
        Values to hide; shorter ones than six characters would hide half the language and are left alone.
    public
        Text that everybody may read, such as a run header: what occurs in it (``ollama`` as a dummy key, say)
        is no secret, and hiding it would only spoil the record.
    """

    def __init__(self, secrets: Iterable[str], public: str = "") -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET and secret not in public:
                encoded = base64.b64encode(secret.encode("utf-8", "replace")).decode()
                quoted = quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace")
                escaped = json.dumps(secret)[1:-1], secret.replace("/", "\\/")
                forms |= {secret, *quoted, *escaped, encoded, encoded.rstrip("=")}
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


def credentials(base_url: str) -> tuple[str, str] | None:
    """Return user name and password of an address that carries them."""
    parts = urlsplit(base_url)
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def redactor_for(config: Config, public: str = "") -> Redactor:
    """Return a redactor that knows every secret the configuration refers to.

    Keys and header values (from the environment or written down), passwords and query values in addresses.
    """
    secrets: list[str] = []
    for model in config.runs:
        names = [model.api_key_env] if model.api_key_env else []
        names += [value[4:] for value in model.headers.values() if value.startswith("env:")]
        secrets += [_stripped(name) for name in names]
        secrets += [value for value in model.headers.values() if not value.startswith("env:")]
        login = credentials(model.base_url)
        if login:
            secrets += [login[1], ":".join(login)]
        secrets += re.findall(r"[?&][^=&]*=([^&]+)", model.base_url)
    # "Bearer abc" in a header: the second word alone is the secret.
    secrets += [word for secret in secrets for word in secret.split()[1:]]
    return Redactor(secrets, public)


def _stripped(name: str) -> str:
    # A line end behind a key comes from the file it was read from and is never sent.
    return os.environ.get(name, "").strip()


def _variable(name: str, model: ModelConfig) -> str:
    value = _stripped(name)
    where = f"runs: {model.provider}/{model.model}: the environment variable {name}"
    if not value:
        raise ConfigError(f"{where} is not set")
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"{where} holds characters that no header can carry")
    return value
