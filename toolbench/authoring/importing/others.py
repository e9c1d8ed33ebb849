"""Tests of promptfoo and samples of Inspect, where they are about tools; what is not is listed by name.

Nothing in their files is executed: no script, no template language, no reference to anything but JSON or YAML
lists of tools beside the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.case_rows import cases_of
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.reading import read_values, read_yaml
from toolbench.authoring.importing.tool_list import from_values
from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError

USED, SEQUENCE, ARGUMENTS, SET = (
    "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "tool-call-f1",
)  # fmt: skip
"""Assertions of promptfoo that name tools."""
VALID = ("is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call")
"""Assertions that every call is held to here anyway."""
_VARIABLE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")


def import_promptfoo(source: str) -> Material:
    """Read a configuration of promptfoo, YAML or JSON: its first prompt with the variables of every test.

    Raises
    ------
    SuiteError
        When it is no configuration, names no tools, or no test of it is about them.
    """
    path = Path(source)
    config = read_yaml(path)
    if not isinstance(config, dict) or not isinstance(config.get("tests"), list):
        raise SuiteError(f"{path}: no configuration of promptfoo: it needs a list of tests")
    offered = from_values(list(_tools(config, path)) or [[]], str(path))
    reader = _Promptfoo(offered, config)
    rows = [row for number, test in enumerate(config["tests"], 1) if (row := reader.row(test, number))]
    told = [text if times == 1 else f"{text} ({times} times)" for text, times in reader.lost.items()]
    if not rows:
        raise SuiteError(f"{path}: no test in it that is about tools{': ' + told[0] if told else ''}")
    made = cases_of(rows, [tool["name"] for tool in offered.tools], None, path.name)
    remarks = (*offered.remarks, *told, *made.remarks)
    return replace(offered, origin=f"tests of promptfoo, {path.name}", cases=made.cases, remarks=remarks)


class _Promptfoo:
    """Turns tests into rows of cases; ``lost`` counts what a case cannot say."""

    def __init__(self, offered: Material, config: Mapping[str, Any]) -> None:
        self.lost: Counter[str] = Counter()
        self._properties = {
            tool["name"]: list(tool["parameters"].get("properties", {})) for tool in offered.tools
        }
        self._names = offered.names
        prompts = config.get("prompts")
        first = prompts[0] if isinstance(prompts, list) and prompts else prompts
        self._prompt = first.get("raw") if isinstance(first, dict) else first
        if isinstance(prompts, list) and len(prompts) > 1:
            self.lost[f"{len(prompts) - 1} further prompts: left out, a case has one text"] += 1
        default = config.get("defaultTest")
        self._default = default if isinstance(default, dict) else {}

    def row(self, test: Any, number: int) -> dict[str, JSON] | None:
        """Return the row of a test, or ``None`` where it says nothing of tools."""
        if not isinstance(test, dict):
            self.lost[f"test {number}: left out: {str(test)[:40]!r} is no object"] += 1
            return None
        where = str(test.get("description") or f"test {number}")[:80]
        said = self._said(test)
        if not said:
            self.lost[f"{where}: left out: its prompt is in another file or needs a template language"] += 1
            return None
        calls: list[dict[str, JSON]] = []
        forbidden: list[str] = []
        order = "any"
        asserted = [*_list(self._default.get("assert")), *_list(test.get("assert"))]
        for one in (one for one in asserted if isinstance(one, dict)):
            kind, value = str(one.get("type")), one.get("value")
            if kind.removeprefix("not-") not in (USED, SEQUENCE, ARGUMENTS, SET):
                if kind not in VALID:
                    self.lost[f"{kind}: left out, it is not about tools or runs code"] += 1
            elif kind == f"not-{USED}":
                forbidden += self._named(value)
            elif kind.startswith("not-"):
                self.lost[f"{kind}: left out, a case cannot say it"] += 1
            else:
                order = "strict" if kind == SEQUENCE else order
                self._expect(calls, kind, value)
        if not calls and not forbidden:
            self.lost[f"{where}: left out: nothing in it is about tools"] += 1
            return None
        expect: dict[str, JSON] = {"kind": "tool_call", "calls": calls, "order": order}
        if not calls:
            expect = {"kind": ["tool_call", "clarification", "text"]}
        return {
            "id": re.sub(r"\W+", "_", where),
            "class": "promptfoo",
            "user": said,
            "expect": {**expect, **({"forbidden_tools": forbidden} if forbidden else {})},
        }

    def _expect(self, calls: list[dict[str, JSON]], kind: str, value: Any) -> None:
        if kind == ARGUMENTS and isinstance(value, dict):
            names, arguments = self._named(value), value.get("args", value.get("arguments"))
            given = arguments if isinstance(arguments, dict) else {}
            for name in names:
                calls[:] = [call for call in calls if call["tool"] != name]
                calls.append(self._call(name, given, value.get("mode") == "exact"))
            return
        known = {call["tool"] for call in calls}
        listed = self._named(value.get("steps") if kind == SEQUENCE and isinstance(value, dict) else value)
        calls += [self._call(name, {}, False) for name in listed if kind == SEQUENCE or name not in known]

    def _call(self, name: str, arguments: Mapping[str, JSON], exact: bool) -> dict[str, JSON]:
        """Return an expected call; what is not said of its arguments is left to the model."""
        free = [] if exact else [one for one in self._properties.get(name, ()) if one not in arguments]
        return {"tool": name, "arguments": dict(arguments), **({"optional": free} if free else {})}

    def _named(self, value: Any) -> list[str]:
        if isinstance(value, dict):
            value = value.get("name", value.get("tool"))
        listed = value.split(",") if isinstance(value, str) else _list(value)
        names = [one.get("name", one.get("tool")) if isinstance(one, dict) else one for one in listed]
        return [self._names.get(str(name).strip(), str(name).strip()) for name in names]

    def _said(self, test: Mapping[str, Any]) -> str | None:
        given = {**_object(self._default.get("vars")), **_object(test.get("vars"))}
        prompt = self._prompt
        if not isinstance(prompt, str) or prompt.startswith("file://"):
            return None
        said = _VARIABLE.sub(lambda match: str(given.get(match[1], match[0])), prompt).strip()
        return None if "{{" in said or "{%" in said else said


def import_inspect(source: str) -> Material:
    """Read the samples of a log of Inspect, with the tools its models were given.

    What is right must stand in a sample's ``metadata`` in the columns of :mod:`.case_rows`; a target in words
    is nothing about tools.

    Raises
    ------
    SuiteError
        When it is no such log, no tools are in it, or no sample expects something of them.
    """
    path = Path(source)
    values, _ = read_values(path)
    log = values[0]
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        raise SuiteError(f"{path}: no log of Inspect: it needs samples; a plain dataset: import cases")
    events = [event for sample in samples for event in _list(_object(sample).get("events"))]
    listed = [tool for event in events for tool in _list(_object(event).get("tools"))]
    unlike = {str(_object(tool).get("name")): tool for tool in listed}
    if not unlike:
        raise SuiteError(f"{path}: no tools in it: its events of models have none")
    offered = from_values([list(unlike.values())], str(path))
    rows = [_sample(_object(sample), number) for number, sample in enumerate(samples, 1)]
    made = cases_of(rows, [tool["name"] for tool in offered.tools], None, path.name)
    remarks = (*offered.remarks, *made.remarks)
    return replace(offered, origin=f"samples of Inspect, {path.name}", cases=made.cases, remarks=remarks)


def _sample(sample: Mapping[str, Any], number: int) -> dict[str, JSON]:
    given = sample.get("input")
    messages = [one for one in _list(given) if isinstance(one, dict)]
    said: dict[str, JSON] = {"messages": messages} if messages else {"user": given}
    return {
        "id": str(sample.get("id", number)),
        "class": "inspect",
        **said,
        **_object(sample.get("metadata")),
    }


def _tools(config: Mapping[str, Any], path: Path) -> Iterator[JSON]:
    """Yield the lists of tools of a configuration's providers and prompts."""
    for provider in _list(config.get("providers") or config.get("targets")):
        tools = _object(_object(provider).get("config")).get("tools")
        tools = tools or _object(_object(provider).get("config")).get("functions")
        for one in _list(tools):
            name = one.removeprefix("file://") if isinstance(one, str) else None
            if name is None:
                yield one
                continue
            beside = (path.parent / name).resolve()
            if beside.suffix not in (".json", ".yaml", ".yml") or path.parent.resolve() not in beside.parents:
                raise SuiteError(f"{path}: tools {one[:80]!r}: only a JSON or YAML file beside it is read")
            yield read_yaml(beside)


def _list(value: Any) -> Sequence[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
