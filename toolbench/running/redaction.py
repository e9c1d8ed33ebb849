"""Keys out of everything that is kept: by value wherever they occur, by name in headers."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

from toolbench.domain.config import REDACTED, SECRET_NAME, Config, ModelConfig
from toolbench.domain.tool_script import ToolScript
from toolbench.errors import ConfigError

_PLAIN_WORD = re.compile(r"[A-Za-z]{0,12}")
_SCHEME = re.compile(r"\A(Bearer|Basic|Token|ApiKey|Api-Key|Key)\s+", re.IGNORECASE)
KEPT_HEADERS = re.compile(
    r"^(x-request-id|request-id|mistral-correlation-id|retry-after(-ms)?|x-should-retry|(x-|anthropic-)?ratelimit-.*"
    r"|x-ratelimit-.*|openai-processing-ms|date|content-type)$"
)
_SHORTEST_SECRET = 6


class Redactor:
    """Replaces known secret values in any text, in every spelling that :func:`spellings` knows.

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
                forms |= set(spellings(secret))
        # Longest first, so that no form leaves the tail of a longer one behind.
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._pattern = re.compile(pattern, re.IGNORECASE) if pattern else None

    def __call__(self, text: str) -> str:
        """Return the text without any known secret."""
        return self._pattern.sub(REDACTED, text) if self._pattern else text

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the response headers worth keeping, lower-cased and redacted."""
        return {
            name.lower(): self(value) for name, value in headers.items() if KEPT_HEADERS.match(name.lower())
        }


def spellings(secret: str) -> Iterator[str]:
    """Yield every form in which a server, a proxy or an error page may give a secret back.

    Letter case is left to who compares. Base64 is found whatever stood before the secret in what was
    encoded ("Bearer k", "user:k"): the letters that only the secret decides are the same at each of three
    offsets.
    """
    raw = secret.encode("utf-8", "replace")
    yield secret
    yield from (quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace"))
    yield "".join(f"%{byte:02x}" for byte in raw)
    yield from (unquote(secret), unquote_plus(secret))
    yield from (json.dumps(secret)[1:-1], secret.replace("/", "\\/"), html.escape(secret))
    yield "".join(f"\\u{ord(letter):04x}" if not letter.isalnum() else letter for letter in secret)
    yield raw.hex()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # The first letters also depend on what stood before, the last one on what follows.
        sure = encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        if len(sure) >= _SHORTEST_SECRET:
            yield from (sure, sure.replace("+", "-").replace("/", "_"))


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


def extra_headers(model: ModelConfig) -> dict[str, str | None]:
    """Return a model's configured headers with ``env:NAME`` values read from the environment."""
    return {
        name: _variable(value[4:], model) if value and value.startswith("env:") else value
        for name, value in model.headers.items()
    }


def keys_there(config: Config) -> None:
    """Refuse to begin when the environment of this process lacks a key: the last model may come in hours.

    Raises
    ------
    ConfigError
        Naming the variable.
    """
    for model in config.runs:
        key_of(model)
        extra_headers(model)


def credentials(base_url: str) -> tuple[str, str] | None:
    """Return user name and password of an address that carries them."""
    parts = urlsplit(base_url)
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def redactor_for(config: Config, public: str = "", scripts: Sequence[ToolScript] = ()) -> Redactor:
    """Return a redactor that knows every secret the configuration refers to.

    Secrets are what key variables and ``env:`` headers hold, headers and query parameters that are named as
    secrets, and passwords in addresses. A key variable that holds one plain word, as servers without keys
    are given, is none.
    """
    secrets = [value for script in scripts for value in _of_tools(script)]
    for model in config.runs:
        names = [model.api_key_env] if model.api_key_env else []
        values = {name: value for name, value in model.headers.items() if value is not None}
        names += [value[4:] for value in values.values() if value.startswith("env:")]
        secrets += [key for key in map(_stripped, names) if not _PLAIN_WORD.fullmatch(key)]
        secrets += [
            value
            for name, value in values.items()
            if not value.startswith("env:") and SECRET_NAME.search(name)
        ]
        login = credentials(model.base_url)
        if login:
            secrets += [login[1], ":".join(login)]
        query = parse_qsl(urlsplit(model.base_url).query)
        secrets += [value for name, value in query if SECRET_NAME.search(name)]
    # "Bearer abc" in a header: the second word alone is the secret.
    secrets += [word for secret in secrets for word in _SCHEME.sub("", secret).split()[:1] if word != secret]
    return Redactor(secrets, public)


def _of_tools(script: ToolScript) -> Iterator[str]:
    """Yield the secrets of a live executor."""
    for name, value in script.headers.items():
        if value.startswith("env:"):
            yield _stripped(value[4:])
        elif SECRET_NAME.search(name):
            yield value
    yield from (_stripped(name) for name in script.env if SECRET_NAME.search(name))
    yield from credentials(script.server) or ()


def _stripped(name: str) -> str:
    # A line end behind a key comes from the file it was read from and is never sent.
    return os.environ.get(name, "").strip()


def _variable(name: str, model: ModelConfig) -> str:
    value = _stripped(name)
    # What does not look like a name may be the key itself, typed into the wrong place.
    shown = name if re.fullmatch(r"[A-Z][A-Z_]*[0-9]{0,3}[A-Z_]*", name) else "that is named"
    where = f"runs: {model.provider}/{model.model}: the environment variable {shown}"
    if not value:
        raise ConfigError(f"{where} is not set")
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"{where} holds characters that no header can carry")
    return value
