"""Lint of a suite's folder: tools, executor script, description variants, rules for making cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolbench.authoring.generate import generate
from toolbench.authoring.lint_rules import TRAP, lint_regex, lint_rules, unknown_tool
from toolbench.authoring.problem import Document, Problem, read_document
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.config import SECRET_NAME
from toolbench.domain.contract import Contract, Overlay, ToolSpec
from toolbench.domain.patterns import is_trap
from toolbench.domain.tool_script import NO_SCRIPT, Failure, Real, ScriptedResult, Success, ToolScript
from toolbench.domain.validation import build_validator, schema_patterns
from toolbench.errors import SuiteError
from toolbench.running.course_tools import IMPLEMENTATIONS

UNSAID = "write the verbs that say it was done, or a claim of it cannot be told from other talk"


def lint_tools(document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a schema-valid ``tools.json``."""
    names: set[str] = set()
    for index, entry in enumerate(document.value["tools"]):
        at = ("tools", index)
        name = entry["name"]
        if name in names:
            yield document.problem((*at, "name"), f"the tool {name!r} is defined twice")
        names.add(name)
        tool = ToolSpec.from_json(entry)
        schema = dict(tool.parameters)
        try:
            build_validator(schema, "schema")
        except SuiteError as fault:
            yield document.problem((*at, "parameters"), str(fault).removeprefix("schema: "))
            continue
        for where, source in schema_patterns(schema):
            if is_trap(source):
                yield document.problem((*at, "parameters"), f"{where}: {source!r} {TRAP}")
        for argument, texts in tool.wordings.items():
            if absent := sorted(set(tool.description) - {""} - set(texts)):
                yield document.problem(
                    (*at, "parameters", "properties", argument, "description"), f"not in {', '.join(absent)}"
                )
        yield from _lint_metadata(document, at, entry)


def _lint_metadata(
    document: Document, at: tuple[str | int, ...], entry: Mapping[str, Any]
) -> Iterator[Problem]:
    properties = entry["parameters"].get("properties", {})
    known = ", ".join(properties) or "none"
    if entry["parameters"].get("additionalProperties") is False:
        for name in entry["parameters"].get("required", ()):
            if name not in properties:
                reason = f"requires {name!r}, which its properties do not allow"
                yield document.problem((*at, "parameters", "required"), reason)
    if "writes" in entry and entry["effect"] == "read":
        yield document.problem((*at, "writes"), "the tool only reads, so it leaves nothing behind")
    for key in ("synonyms", "normalizers", "ask_words", "ownership"):
        for name in entry.get(key, ()):
            if name not in properties:
                reason = f"{name!r} is not an argument of this tool (it has {known})"
                yield document.problem((*at, key), reason)
    for name, values in entry.get("synonyms", {}).items():
        choices = properties.get(name, {}).get("enum")
        for value in values:
            if choices is not None and value not in map(str, choices):
                reason = f"{value!r} is not one of the enum values {choices}"
                yield document.problem((*at, "synonyms", name, value), reason)


def _lint_live(document: Document, script: ToolScript, contract: Contract) -> Iterator[Problem]:
    for key in ("callables", "names"):
        for name in getattr(script, key):
            if name not in contract.by_name:
                yield document.problem((key, name), unknown_tool(name, contract))
    for name in contract.by_name if script.kind == "python" else ():
        if name not in script.callables:
            yield document.problem(("callables",), f"no function for {name}")
    for name, value in script.headers.items():
        if SECRET_NAME.search(name) and not value.startswith("env:"):
            yield document.problem(("headers", name), "secrets come from the environment: write env:NAME")


def lint_executor(document: Document, contract: Contract, langs: Sequence[str]) -> Iterator[Problem]:
    """Yield what is wrong with a schema-valid ``executor.json``."""
    script = ToolScript.from_json(document.value)
    if script.live:
        yield document.problem(("live",), "a suite is frozen: live answers have no expected value")
    yield from _lint_live(document, script, contract)
    earlier: list[tuple[int, str, Mapping[str, JSON]]] = []
    for index, rule in enumerate(script.rules):
        at = ("rules", index)
        tool = contract.by_name.get(rule.tool)
        if tool is None:
            yield document.problem((*at, "tool"), unknown_tool(rule.tool, contract))
            continue
        when = rule.when
        yield from _lint_when(document, (*at, "when"), tool, when)
        for number, name, wider in earlier:
            if name == tool.name and all(
                argument in when and canonical_json(when[argument]) == canonical_json(value)
                for argument, value in wider.items()
            ):
                yield document.problem(at, f"can never match: rules[{number}] answers every such call first")
                break
        earlier.append((index, tool.name, when))
        for position, result in enumerate(rule.results):
            place = (*at, "results", position)
            yield from _lint_result(document, place, tool, result, langs)
            if isinstance(result, Real):
                yield from _lint_real(document, place, tool, result, script)


def _lint_when(
    document: Document, at: tuple[str | int, ...], tool: ToolSpec, when: Mapping[str, JSON]
) -> Iterator[Problem]:
    for name, wanted in when.items():
        path = (*at, name)
        if name not in tool.properties:
            known = ", ".join(tool.properties) or "none"
            yield document.problem(path, f"{tool.name} has no argument {name!r} (it has {known})")
        elif isinstance(wanted, dict) and set(wanted) == {"pattern"}:
            yield from lint_regex(document, (*path, "pattern"), wanted["pattern"])
        else:
            for issue in tool.issues({name: wanted}):
                if issue.keys == (name,) and issue.code != "missing_required":
                    yield document.problem(
                        path, f"{wanted!r} never reaches the tool: {issue.code}, expected {issue.expected}"
                    )


def _lint_result(
    document: Document,
    at: tuple[str | int, ...],
    tool: ToolSpec,
    result: ScriptedResult,
    langs: Sequence[str],
) -> Iterator[Problem]:
    if isinstance(result, Success):
        for name in re.findall(r'"\$([A-Za-z_]\w*)"', canonical_json(result.value)):
            if name not in tool.properties:
                yield document.problem((*at, "ok"), f"${name} is not an argument of {tool.name}")
    if isinstance(result, Failure):
        for key, text in (("message", result.error.message), ("hint", result.error.hint)):
            for lang in langs:
                if isinstance(text, Mapping) and lang not in text:
                    yield document.problem((*at, "error", key), f"no text for language {lang!r}")
    written = (*at, "effect") in document.lines
    if written and not isinstance(result, Real) and result.effect and tool.effect == "read":
        yield document.problem((*at, "effect"), f"{tool.name} only reads, it has no effect")


def _lint_real(
    document: Document, at: tuple[str | int, ...], tool: ToolSpec, result: Real, script: ToolScript
) -> Iterator[Problem]:
    real = IMPLEMENTATIONS.get(result.name)
    if real is None:
        known = ", ".join(IMPLEMENTATIONS)
        yield document.problem((*at, "implementation"), f"there is no such real tool (there are {known})")
        return
    for name in real.needs:
        if name not in tool.required:
            yield document.problem(
                (*at, "implementation"), f"needs {name!r}, which {tool.name} does not require"
            )
    if result.name == "get_time" and script.now is None:
        yield document.problem((*at, "implementation"), "without now, its answer changes with the clock")


def lint_actions(contract: Contract, tools: Document, langs: Iterable[str]) -> Iterator[Problem]:
    """Yield the tools that change something and do not say how, in a language that there are cases in."""
    for index, tool in enumerate(contract.tools):
        for lang in langs:
            if tool.effect == "write" and not tool.actions.get(lang):
                reason = f"no actions for language {lang!r}: {UNSAID}"
                yield tools.problem(("tools", index), reason)


def lint_folder(folder: Path, contract: Contract, tools: Document, langs: Sequence[str]) -> Iterator[Problem]:
    """Yield what is wrong with everything beside ``tools.json`` in a suite's folder."""
    script = NO_SCRIPT
    if (folder / "executor.json").exists():
        document, problems = read_document(folder / "executor.json", "executor")
        yield from problems
        if document is not None:
            script = ToolScript.from_json(document.value)
            yield from lint_executor(document, contract, langs)
    if (folder / "rules.json").exists():
        document, problems = read_document(folder / "rules.json", "rules")
        yield from problems
        if document is not None:
            yield from lint_rules(document, contract, script)
    for index, tool in enumerate(contract.tools):
        for lang in langs:
            if lang not in tool.description and "" not in tool.description:
                yield tools.problem(("tools", index, "description"), f"no description for language {lang!r}")
    for path in sorted(folder.glob("descriptions.*.json")):
        try:
            Overlay.load(path, contract)
        except SuiteError as fault:
            yield Problem(path, 1, str(fault).removeprefix(f"{path}: "))
    yield from _lint_variants(folder)


def _lint_variants(folder: Path) -> Iterator[Problem]:
    path = folder / "variants.json"
    if not path.exists():
        return
    document, problems = read_document(path, "variants")
    yield from problems
    for lang in document.value["langs"] if document else ():
        try:
            generate(folder, lang)
        except SuiteError as fault:
            yield Problem(path, 1, str(fault).removeprefix(f"{path}: "))
