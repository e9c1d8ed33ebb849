"""Extensions by decorator: they are used, named in the signature, and a broken one stops with its name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest

from tests.extensions.example.toolbench_example import house_chat, no_shouting, plate
from tests.support import judged, make_case, said
from toolbench import Check, extension
from toolbench.adapters import adapter_for
from toolbench.domain import extensions as registry
from toolbench.domain.codes import CODES
from toolbench.domain.config import Config
from toolbench.domain.contract import Contract
from toolbench.domain.environment import versions
from toolbench.errors import ConfigError, ExtensionError, SuiteError
from toolbench.judging.normalizers import NORMALIZERS, alike

HELLO = make_case(user="Hello!", expect={"kind": "text"})


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    codes = dict(CODES)
    yield
    registry._decorated.clear()
    registry._installed.cache_clear()
    CODES.clear()
    CODES.update(codes)


def test_a_check_finds_what_it_looks_for_and_its_code_has_a_meaning() -> None:
    assert judged(HELLO, said("GOOD MORNING TO YOU")).codes == ()
    extension("checks", "no_shouting", "1")(no_shouting)
    assert judged(HELLO, said("GOOD MORNING TO YOU")).codes == ("shouting",)
    assert judged(HELLO, said("Good morning to you")).codes == ()
    assert CODES["shouting"].meaning["en"] == "The answer is written in capitals."


def test_a_normalizer_is_known_to_contracts_and_cases() -> None:
    tool = {
        "name": "t",
        "description": "d",
        "effect": "read",
        "parameters": {"type": "object", "properties": {"plate": {"type": "string"}}},
        "normalizers": {"plate": "plate"},
    }
    with pytest.raises(SuiteError, match=r"normalizers\.plate: no 'plate'; there are city"):
        Contract.from_json({"version": "1", "tools": [tool]}, "tools.json")
    extension("normalizers", "plate", "1")(plate)
    Contract.from_json({"version": "1", "tools": [tool]}, "tools.json")
    assert alike("plate", "ab-12 cd", "AB12CD")
    assert not alike("plate", "ab-12 ce", "AB12CD")


def test_an_adapter_is_a_protocol_of_a_configuration() -> None:
    entry = {"provider": "p", "model": "m", "protocol": "house_chat", "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(ConfigError, match="no adapter speaks 'house_chat'"):
        Config.from_json({"runs": [entry]}, "config.json")
    extension("adapters", "house_chat", "1")(house_chat)
    (model,) = Config.from_json({"runs": [entry]}, "config.json").runs
    assert adapter_for(model.protocol).auth_headers("k") == {"X-House-Key": "k"}


def test_names_and_versions_are_in_the_header() -> None:
    before = versions()
    extension("adapters", "house_chat", "7")(house_chat)
    assert versions() == {**before, "adapters.house_chat": "7"}
    assert registry.versions_of("adapters", "checks") == ["adapters.house_chat@7"]


def test_the_names_that_are_taken_are_those_of_the_tables() -> None:
    assert set(registry.OWN["normalizers"]) == set(NORMALIZERS)


@pytest.mark.parametrize(
    ("kind", "name", "value", "told"),
    [
        pytest.param("normalizers", "city", plate, "belongs to toolbench itself", id="taken-name"),
        pytest.param("normalizers", "plate", 7, "int is nothing of that kind", id="no-function"),
        pytest.param("checks", "mine", lambda trace: [], "nothing of that kind", id="no-check"),
        pytest.param("adapters", "mine", type(house_chat), "nothing of that kind", id="class-not-instance"),
        pytest.param(
            "checks", "mine", Check(lambda _: [], {"wrong_tool": "x"}), "the code wrong_tool", id="taken-code"
        ),
    ],
)  # fmt: skip
def test_what_is_nothing_of_the_kind_is_refused(kind: Any, name: str, value: Any, told: str) -> None:
    with pytest.raises(ExtensionError, match=told):
        extension(kind, name, "1")(value)


def test_one_that_fails_while_judging_is_named() -> None:
    def fails(trace: Any) -> Any:
        raise ZeroDivisionError("no luck")

    extension("checks", "unlucky", "3")(Check(fails, {}))
    with pytest.raises(ExtensionError, match=r"checks\.unlucky@3 failed on case c: ZeroDivision.*: no luck"):
        judged(HELLO, said("Good morning"))


def test_one_that_cannot_be_loaded_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("gone", "no_such_module:thing", "toolbench.checks")
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: [point] if "checks" in group else [])
    registry._installed.cache_clear()
    told = r"extension checks\.gone of an unknown package cannot be loaded: ModuleNotFoundError.*uninstall it"
    with pytest.raises(ExtensionError, match=told):
        judged(HELLO, said("Good morning"))
