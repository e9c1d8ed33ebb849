"""``toolbench lint``: refuses suites whose figures could not be trusted, with file, line and reason.

A suite is checked as a whole: ``contracts/<suite>/`` (tools, executor script, rules, description variants,
rules for making cases) and its case files ``cases/<suite>.*.jsonl``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from toolbench.authoring.ground import Ground
from toolbench.authoring.lint_cases import lint_case
from toolbench.authoring.lint_contract import lint_actions, lint_folder, lint_tools
from toolbench.authoring.lint_values import lint_own_tools
from toolbench.authoring.problem import Problem, read_document
from toolbench.domain.canonical import StrictJSONError, loads_strict
from toolbench.domain.case import Case
from toolbench.domain.contract import Contract
from toolbench.domain.files import read_text, validate
from toolbench.domain.suite import Suite, load_rules, load_script
from toolbench.errors import SuiteError

__all__ = ["Problem", "lint"]


def lint(paths: Iterable[Path]) -> list[Problem]:
    """Check suites and cases.

    Parameters
    ----------
    paths
        Case files, ``tools.json`` files, suite folders, or folders to search for them. A suite folder
        brings its case files with it; a case file brings its suite's folder.

    Returns
    -------
    list of Problem
        Sorted by file and line; empty when everything can be trusted.
    """
    asked = _Asked()
    # Case files last: by then the suites they may belong to are known.
    for path in sorted(map(Path, paths), key=lambda path: path.suffix == ".jsonl"):
        asked.add(path)
    problems = list(asked.problems)
    for folder, files in asked.suites.items():
        problems += _lint_suite(folder, sorted(files))
    return sorted(set(problems))


@dataclass
class _Asked:
    """The suites to check, by folder, with the case files to check in each."""

    suites: dict[Path, set[Path]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path) -> None:
        if not path.exists():
            self.problems.append(Problem(path, 1, "no such file or folder"))
        elif path.is_dir():
            self._add_folder(path)
        elif path.suffix == ".jsonl":
            self._add_cases(path)
        elif (path.parent / "tools.json").exists():
            self._add_suite(path.parent)
        else:
            self.problems.append(
                Problem(path, 1, "neither a case file (.jsonl) nor a file beside tools.json")
            )

    def _add_folder(self, path: Path) -> None:
        suites = sorted(found.parent for found in path.rglob("tools.json") if not _hidden(found, path))
        cases = sorted(path.glob("*.jsonl") if path.name == "cases" else path.rglob("cases/*.jsonl"))
        cases = [found for found in cases if not _hidden(found, path)]
        for folder in suites:
            self._add_suite(folder)
        for file in cases:
            self._add_cases(file)
        if not suites and not cases:
            self.problems.append(Problem(path, 1, "no tools.json and no cases/*.jsonl in this folder"))

    def _add_suite(self, folder: Path) -> None:
        files = (folder.parent.parent / "cases").glob(f"{folder.name}.*.jsonl")
        self.suites.setdefault(folder, set()).update(files)

    def _add_cases(self, path: Path) -> None:
        name = path.name.split(".")[0]
        candidates = [path.parent.parent / "contracts" / name, path.parent]
        if len(self.suites) == 1:
            candidates += self.suites
        folder = next((found for found in candidates if (found / "tools.json").exists()), None)
        if folder is None:
            self.problems.append(
                Problem(path, 1, f"its contract, ../contracts/{name}/tools.json, is missing")
            )
        else:
            self.suites.setdefault(folder, set()).add(path)


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _lint_suite(folder: Path, files: list[Path]) -> Iterator[Problem]:
    tools, problems = read_document(folder / "tools.json", "contract")
    problems += lint_tools(tools) if tools else []
    yield from problems
    cases = [case for file in files for case in _read_cases(file)]
    yield from (case for case in cases if isinstance(case, Problem))
    if tools is None or problems:
        return
    contract = Contract.from_json(tools.value, str(tools.file))
    read = [case for case in cases if isinstance(case, _Line)]
    prompts = {path.name.split(".")[1] for path in folder.glob("prompt.*.md")}
    problems = list(lint_folder(folder, contract, tools, sorted(prompts)))
    yield from problems
    yield from lint_actions(contract, tools, sorted({line.case.lang for line in read} & prompts))
    yield from _lint_labels(read, prompts)
    # What a case expects means nothing against a script or rules that are themselves refused.
    if not problems:
        suite = _suite(folder, contract)
        yield from (line.problem(reason) for line in read for reason in _lint_line(line, suite, folder))


@dataclass(frozen=True)
class _Line:
    """One case, and where it stands."""

    file: Path
    number: int
    case: Case

    def problem(self, reason: str) -> Problem:
        return Problem(self.file, self.number, f"case {self.case.id}: {reason}")


def _read_cases(file: Path) -> Iterator[_Line | Problem]:
    """Read a case file line by line; a broken line does not hide the others."""
    try:
        lines = read_text(file).split("\n")
    except SuiteError as fault:
        yield Problem(file, 1, str(fault).removeprefix(f"{file}: "))
        return
    if not any(line.strip() for line in lines):
        yield Problem(file, 1, "no case in this file")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = loads_strict(line)
            validate(data, "case", "")
        except StrictJSONError as fault:
            yield Problem(file, number, f"not valid JSON: {fault}")
        except SuiteError as fault:
            yield Problem(file, number, str(fault).removeprefix(": "))
        else:
            yield _Line(file, number, Case.from_json(data))


def _suite(folder: Path, contract: Contract) -> Suite:
    """Return a suite without prompts and cases."""
    return Suite(folder.name, contract, {}, load_script(folder), load_rules(folder), {}, ())


def _lint_line(line: _Line, suite: Suite, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a case, on the suite as it sees it."""
    case = line.case
    try:
        seen = suite.with_contract_of(case, folder.parent, "").of(case)
    except SuiteError as fault:
        yield str(fault).removeprefix(": ").removeprefix(f"case {case.id}: ")
        return
    yield from lint_own_tools(case)
    yield from lint_case(case, Ground(seen.contract, seen.executor, seen.rules))


def _lint_labels(lines: list[_Line], prompts: set[str]) -> Iterator[Problem]:
    """Yield what is wrong with ids and languages."""
    first: dict[tuple[str, str], _Line] = {}
    without_prompt: set[str] = set()
    for line in lines:
        case = line.case
        known = first.setdefault((case.lang, case.id), line)
        if known is not line:
            yield line.problem(f"the id is already used in {known.file}:{known.number}")
        if case.system is None and case.lang not in prompts | without_prompt:
            without_prompt.add(case.lang)
            yield line.problem(f"lang: the suite has no prompt.{case.lang}.md")
        parts = line.file.name.split(".")
        if len(parts) > 2 and parts[-2] != case.lang:
            yield line.problem(f"lang: {case.lang!r} in a file for {parts[-2]!r}")
