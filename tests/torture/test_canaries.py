"""Keys of every shape, given back in every spelling: none is kept, printed or told."""

import base64
import html
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from toolbench.domain.config import Config, ModelConfig
from toolbench.errors import ConfigError
from toolbench.running.redaction import Redactor, key_of, redactor_for

KEYS = [
    "sk-proj-Abc123DEFghi456",
    "AIzaSyD-9tSrke72PouQMnMX_a7eZSW0jkFMBWY",
    "gsk_abcdefghijklmnop0123456789",
    "0123456789abcdef0123456789abcdef",
    "ключ" + "AbC/dEf+gH==secret99",
    "p@ss w&rd<>\"'%2B",
]


def forms(key: str) -> dict[str, str]:
    """Return the spellings in which a server might give a key back."""
    raw = key.encode()
    found = {
        "plain": key,
        "upper": key.upper(),
        "lower": key.lower(),
        "quoted": quote(key, safe=""),
        "quoted-lower": quote(key, safe="").lower(),
        "plus": quote_plus(key),
        "every-byte-quoted": "".join(f"%{byte:02X}" for byte in raw),
        "json": json.dumps(key)[1:-1],
        "json-slashes": key.replace("/", "\\/"),
        "html": html.escape(key),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "base64": base64.b64encode(raw).decode(),
        "base64-url": base64.urlsafe_b64encode(raw).decode().rstrip("="),
    }
    for name, before, after in (
        ("bearer", "Bearer ", ""),
        ("user", "u:", ""),
        ("pass", "", ":p"),
        ("both", "ab", "\n"),
    ):
        found[f"base64-{name}"] = base64.b64encode((before + key + after).encode()).decode()
    return found


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
@pytest.mark.parametrize("name", list(forms(KEYS[0])))
def test_a_key_is_found_in_every_spelling(key: str, name: str) -> None:
    spelled = forms(key)[name]
    told = Redactor([key])(f'{{"error": "you sent {spelled} to us"}}')
    assert spelled not in told
    # Of an encoding that began before the key or went on behind it a few letters may stay, no more.
    rest = told.removeprefix('{"error": "you sent ').removesuffix(' to us"}').replace("[redacted]", "")
    assert len(rest) <= 12 + 2 * (name == "base64-bearer"), told


@pytest.mark.parametrize(
    "entry",
    [
        {"api_key_env": "sk-proj-Abc123DEFghi456"},
        {"api_key_env": "0123456789abcdef0123456789abcdef"},
        {"base_url": "host.example/v1?key=sk-proj-Abc123DEFghi456"},
        {"base_url": "sk-proj-Abc123DEFghi456"},
        {"base_url": "user:sk-proj-Abc123DEFghi456@host/v1"},
    ],
    ids=["key-as-name", "hex-as-name", "no-scheme", "key-as-address", "login-without-scheme"],
)
def test_a_key_typed_into_the_wrong_place_is_not_printed(entry: dict[str, str]) -> None:
    run = {"provider": "p", "model": "m", "protocol": "chat_completions", "base_url": "http://h/v1", **entry}
    with pytest.raises(ConfigError) as error:
        Config.from_json({"runs": [run]}, "config.json")
    assert "Abc123" not in str(error.value)
    assert "0123456789abcdef" not in str(error.value)


@pytest.mark.parametrize("name", ["AIzaSyD_9tSrke72PouQMnMX", "a0123456789abcdef", "ABCDEF0123456789ABCDEF"])
def test_what_may_be_a_key_is_not_told_as_a_missing_variable(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        key_of(ModelConfig("p", "m", "chat_completions", "http://h/v1", api_key_env=name))
    assert name not in str(error.value)


def test_a_query_key_is_found_when_it_comes_back_decoded() -> None:
    model = ModelConfig("p", "m", "generate_content", "http://h/v1?key=ab%2Bcd%2Fef12345")
    told = redactor_for(Config(runs=(model,)))("bad key ab+cd/ef12345 and ab%2bcd%2fef12345")
    assert "cd" not in told


def test_letters_that_everybody_can_read_stay(tmp_path: Path) -> None:
    assert Redactor(["delivery"], public="the delivery suite")("delivery of 2 kg") == "delivery of 2 kg"
