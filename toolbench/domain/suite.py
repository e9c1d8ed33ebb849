"""A suite: contract + prompts + executor script + rules + cases, loaded, cross-checked and hashed.

On disk a suite is ``contracts/<name>/{tools.json, prompt.<lang>.md, executor.json, rules.json}`` plus
``cases/<name>.<lang>.jsonl``. A run stores the same things as one JSON snapshot, so that an old log is
scored against what it was run with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.case import Case
from toolbench.domain.contract import Contract, Overlay, ToolSpec
from toolbench.domain.files import read_json, read_jsonl, read_text
from toolbench.domain.rules import NO_RULES, Rules
from toolbench.domain.shipped import shipped
from toolbench.domain.tool_script import NO_SCRIPT, ToolScript
from toolbench.errors import SuiteError

NAME = r"[\w-][\w.-]*"
"""How a suite may be called."""


@dataclass(frozen=True)
class Suite:
    """Everything needed to play and to judge one family of cases.

    ``prompts`` maps ``<lang>`` or ``<lang>.<variant>`` to a text, ``overlays`` maps a description variant's
    name to it, ``contracts`` holds other contracts that cases name. ``distractors`` are the entries of tools
    of other contracts, see :meth:`beside`.
    """

    name: str
    contract: Contract
    prompts: Mapping[str, str]
    executor: ToolScript
    rules: Rules
    overlays: Mapping[str, Overlay]
    cases: tuple[Case, ...]
    distractors: tuple[Mapping[str, JSON], ...] = ()
    contracts: Mapping[str, Contract] = field(default_factory=dict)

    def of(self, case: Case) -> Suite:
        """Return the suite as a case sees it: with the contract it names and the tools it brings.

        Raises
        ------
        SuiteError
            When a tool the case brings is no usable tool.
        """
        if case.contract is None and not case.own_tools:
            return self
        seen = self._seen.get(case.hash)
        if seen is None:
            base = self.contracts[case.contract] if case.contract is not None else self.contract
            contract = base.with_tools(case.own_tools, f"case {case.id}") if case.own_tools else base
            contract = replace(contract, distractors=self.contract.distractors)
            seen = self._seen[case.hash] = replace(self, contract=contract)
        return seen

    @cached_property
    def _seen(self) -> dict[str, Suite]:
        return {}

    def system(self, case: Case, variant: str | None = None) -> str:
        """Return the system prompt of a case: its own, or the suite's in its language (and variant)."""
        return case.system if case.system is not None else self.prompt(case.lang, variant)

    def prompt(self, lang: str, variant: str | None = None) -> str:
        """Return the system prompt of a language (and variant).

        Raises
        ------
        SuiteError
            When the suite has no such prompt.
        """
        key = lang if variant is None else f"{lang}.{variant}"
        try:
            return self.prompts[key]
        except KeyError:
            raise SuiteError(f"suite {self.name}: prompt.{key}.md is missing") from None

    def overlay(self, name: str | None) -> Overlay | None:
        """Return a description variant by name (``None`` is the contract's own wording)."""
        if name is None:
            return None
        try:
            return self.overlays[name]
        except KeyError:
            known = ", ".join(sorted(self.overlays)) or "none"
            raise SuiteError(f"suite {self.name}: no descriptions.{name}.json (there: {known})") from None

    @cached_property
    def case_by_key(self) -> Mapping[tuple[str, str], Case]:
        """Cases by ``(lang, id)``."""
        return {(case.lang, case.id): case for case in self.cases}

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 by part: contract, executor, rules, cases, each prompt and each description variant."""
        return {
            "contract": self.contract.hash,
            "executor": sha256(dict(self.executor.source)),
            "rules": sha256(dict(self.rules.source)),
            "cases": sha256([dict(case.source) for case in self.cases]),
            **{f"contract.{name}": contract.hash for name, contract in sorted(self.contracts.items())},
            **{f"prompt.{key}": sha256(text) for key, text in sorted(self.prompts.items())},
            **{f"descriptions.{key}": sha256(dict(o.source)) for key, o in sorted(self.overlays.items())},
            **({"distractors": sha256(list(self.distractors))} if self.distractors else {}),
        }

    @property
    def langs(self) -> tuple[str, ...]:
        """Languages of the cases, sorted."""
        return tuple(sorted({case.lang for case in self.cases}))

    def keep(self, cases: Iterable[Case]) -> Suite:
        """Return the same suite with other cases."""
        return replace(self, cases=tuple(cases))

    def beside(self, distractors: Iterable[Mapping[str, Any]]) -> Suite:
        """Return the same suite with tools of other contracts that may be shown beside its own."""
        entries = tuple(distractors)
        tools = tuple(ToolSpec.from_json(entry) for entry in entries)
        return replace(self, contract=replace(self.contract, distractors=tools), distractors=entries)

    def with_contract_of(self, case: Case, folder: Path, where: str) -> Suite:
        """Return the suite with the contract a case names, read from ``folder/<name>/tools.json``.

        Raises
        ------
        SuiteError
            When there is no such contract, or it cannot be used.
        """
        name = case.contract
        if name is None or name in self.contracts:
            return self
        path = folder / name / "tools.json"
        if not re.fullmatch(NAME, name) or not path.exists():
            raise SuiteError(f"{where}: contract: {path} is not there")
        return replace(self, contracts={**self.contracts, name: Contract.load(path)})

    def snapshot(self) -> dict[str, JSON]:
        """Return the suite as one JSON value; :meth:`from_snapshot` is its inverse."""
        return {
            "name": self.name,
            "contract": dict(self.contract.source),
            "prompts": dict(self.prompts),
            "executor": dict(self.executor.source),
            "rules": dict(self.rules.source),
            "overlays": {name: dict(overlay.source) for name, overlay in self.overlays.items()},
            "cases": [dict(case.source) for case in self.cases],
            **({"distractors": list(self.distractors)} if self.distractors else {}),
            **(
                {"contracts": {name: dict(one.source) for name, one in self.contracts.items()}}
                if self.contracts
                else {}
            ),
        }

    @classmethod
    def from_snapshot(cls, data: Mapping[str, Any], where: str) -> Suite:
        """Rebuild a suite from a run header."""
        return cls(
            name=data["name"],
            contract=Contract.from_json(data["contract"], where),
            prompts=data["prompts"],
            executor=ToolScript.from_json(data["executor"]),
            rules=Rules.from_json(data["rules"]),
            overlays={
                name: Overlay(name=name, tools=source["tools"], source=source)
                for name, source in data["overlays"].items()
            },
            cases=tuple(Case.from_json(case) for case in data["cases"]),
            contracts={
                name: Contract.from_json(source, where) for name, source in data.get("contracts", {}).items()
            },
        ).beside(data.get("distractors", ()))


def load_suite(tools: Path, cases: Sequence[Path]) -> Suite:
    """Load a suite from its ``tools.json`` and its case files.

    Prompt, executor script, rules and description variants are taken from the folder of ``tools.json``;
    its name is the suite's name. Missing ``executor.json`` or ``rules.json`` mean an empty script and no
    rules. (A thorough check across the files is :func:`toolbench.authoring.lint.lint`.)

    Raises
    ------
    SuiteError
        With ``file:line`` and the field, for anything that cannot be played: broken files, unknown tools,
        duplicate ids, a language without a prompt.
    """
    contract = Contract.load(tools)
    folder = tools.parent
    prompts = {
        path.name.removeprefix("prompt.").removesuffix(".md"): read_text(path).strip()
        for path in sorted(folder.glob("prompt.*.md"))
    }
    suite = Suite(
        name=folder.name,
        contract=contract,
        prompts=prompts,
        executor=load_script(folder),
        rules=load_rules(folder),
        overlays={
            overlay.name: overlay
            for overlay in (
                Overlay.load(path, contract) for path in sorted(folder.glob("descriptions.*.json"))
            )
        },
        cases=(),
    )
    cases_read: list[Case] = []
    for path in cases:
        for where, case in _read_cases(path):
            suite = suite.with_contract_of(case, folder.parent, where)
            _check_tools(case, suite, where)
            cases_read.append(case)
    seen: set[tuple[str, str]] = set()
    for case in cases_read:
        if (case.lang, case.id) in seen:
            raise SuiteError(f"suite {suite.name}: the case id {case.id} ({case.lang}) occurs twice")
        seen.add((case.lang, case.id))
        suite.system(case)
    return suite.keep(cases_read)


def load_script(folder: Path) -> ToolScript:
    """Load a suite folder's ``executor.json``; without one no tool answers anything."""
    path = folder / "executor.json"
    return ToolScript.from_json(read_json(path, "executor")) if path.exists() else NO_SCRIPT


def load_rules(folder: Path) -> Rules:
    """Load a suite folder's ``rules.json``; without one everything is allowed."""
    path = folder / "rules.json"
    return Rules.from_json(read_json(path, "rules")) if path.exists() else NO_RULES


def find_suite(root: Path, name: str) -> Suite:
    """Load a suite by name from ``contracts/<name>`` and ``cases/<name>.*.jsonl``.

    Looked for in ``root``, then in the current folder, then among the suites that come with toolbench; the
    first contract of that name decides, so that a suite is never mixed from two places.

    Raises
    ------
    SuiteError
        When there is no such contract, no case file beside it, or either cannot be used.
    """
    if not re.fullmatch(NAME, name):
        raise SuiteError(f"{name[:80]!r} is no name of a suite; for files elsewhere use --tools and --cases")
    tools = contract_path(root, name)
    place = tools.parents[2]
    files = _case_files(place, name)
    if not files:
        raise SuiteError(f"{place / 'cases'}: no case file named {name}.<lang>.jsonl")
    return load_suite(tools, files)


def contract_path(root: Path, name: str) -> Path:
    """Return the first ``contracts/<name>/tools.json`` of the places that :func:`find_suite` looks in.

    Raises
    ------
    SuiteError
        When none of them has one.
    """
    found = (_tools(place, name) for place in _places(root) if _tools(place, name).exists())
    path = next(found, None)
    if path is None:
        known = ", ".join(known_suites(root)) or "none"
        raise SuiteError(f"{_tools(root, name)}: no such suite; there are: {known}")
    return path


def known_suites(root: Path) -> list[str]:
    """Return the names :func:`find_suite` can load, those of ``root`` first."""
    names = [
        tools.parent.name
        for place in _places(root)
        for tools in sorted(place.glob("contracts/*/tools.json"))
        if _case_files(place, tools.parent.name)
    ]
    return list(dict.fromkeys(names))


def _places(root: Path) -> tuple[Path, ...]:
    return root, Path(), shipped()


def _tools(place: Path, name: str) -> Path:
    return place / "contracts" / name / "tools.json"


def _case_files(place: Path, name: str) -> list[Path]:
    return sorted((place / "cases").glob(f"{name}.*.jsonl"))


def _read_cases(path: Path) -> Iterable[tuple[str, Case]]:
    for number, data in read_jsonl(path, "case"):
        yield f"{path}:{number}", Case.from_json(data)


def _check_tools(case: Case, suite: Suite, where: str) -> None:
    try:
        contract = suite.of(case).contract
    except SuiteError as fault:
        raise SuiteError(f"{where}: {fault}") from None
    for place, name in _named_tools(case):
        if name not in contract.by_name:
            known = ", ".join(contract.by_name)
            raise SuiteError(f"{where}: {place}: unknown tool {name!r} (the contract has {known})")


def _named_tools(case: Case) -> Iterable[tuple[str, str]]:
    yield from (("tools", name) for name in case.tools or ())
    yield from (("turns.tools", name) for turn in case.turns for name in turn.tools)
    for message in case.messages:
        yield from (("messages.tool_calls", call["name"]) for call in message.get("tool_calls", ()))
    for index, expect in enumerate((case.expect, *(turn.expect for turn in case.turns))):
        at = "expect" if index == 0 else f"turns[{index - 1}].expect"
        yield from ((f"{at}.calls", name) for call in expect.calls for name in call.tools)
        yield from ((f"{at}.forbidden_tools", name) for name in expect.forbidden_tools)
        yield from ((f"{at}.forbidden_calls", call.tool) for call in expect.forbidden_calls)
