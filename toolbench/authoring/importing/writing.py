"""Material → the files of a suite: all of them or none, and never over what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolbench.authoring.ground import Ground
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.said import worded
from toolbench.authoring.importing.samples import sample
from toolbench.authoring.lint import Problem, lint
from toolbench.domain.canonical import JSON, canonical_json, too_deep
from toolbench.domain.contract import Contract
from toolbench.domain.files import create_all, validate
from toolbench.domain.rules import Rules
from toolbench.domain.tool_script import ToolScript
from toolbench.errors import SuiteError

VERSION = "1"
PROMPTS: Mapping[str, str] = {
    "en": "You are a helpful assistant. Use the functions you have when the request needs them.\n\n"
    "1. Call only the function that the request needs. If none is needed, answer in plain text.\n"
    "2. Never invent arguments: take them from the user's words or from function results.\n"
    "3. If something is missing or unclear, call nothing and ask one short question.\n"
    "4. Never say that something is done before a function has returned success.\n",
    "ru": "Ты полезный помощник. Пользуйся функциями, когда без них просьбу не выполнить.\n\n"
    "1. Вызывай только ту функцию, которая нужна для просьбы. Если не нужна никакая, отвечай текстом.\n"
    "2. Не придумывай аргументы: бери их из слов пользователя или из результатов функций.\n"
    "3. Если чего-то не хватает или неясно, ничего не вызывай и задай один короткий вопрос.\n"
    "4. Не говори, что дело сделано, пока функция не вернула успех.\n",
}
PLACEHOLDERS = "Made by an import: every tool answers with a placeholder. Put what yours answer here."


@dataclass(frozen=True)
class Written:
    """What an import left: the files, and what lint says about them."""

    files: Sequence[Path]
    problems: Sequence[Problem]


def write_suite(root: Path, name: str, material: Material) -> Written:
    """Write ``contracts/<name>/`` and, when there are cases, ``cases/<name>.<lang>.jsonl``.

    Raises
    ------
    SuiteError
        When the name is taken or none, or the material makes no suite; nothing is written then.
    """
    check_name(name)
    folder = root / "contracts" / name
    there = [path for path in (folder, *(root / "cases").glob(f"{name}.*.jsonl")) if path.exists()]
    if there:
        raise SuiteError(f"{there[0]}: is there already, nothing was written; choose another --name")
    contents = {folder / file: text for file, text in suite_files(material, f"suite {name}").items()}
    return _create(contents | case_files(root, name, material.cases), [folder])


def write_cases(root: Path, name: str, material: Material) -> Written:
    """Write case files for a suite that is there.

    Raises
    ------
    SuiteError
        When there is no such suite under ``root``, or it has cases in a language of these already.
    """
    check_name(name)
    tools = root / "contracts" / name / "tools.json"
    if not tools.exists():
        raise SuiteError(f"{tools}: no such suite; import its tools first")
    contents = case_files(root, name, material.cases)
    for path in contents:
        if path.exists():
            raise SuiteError(f"{path}: is there already, nothing was written")
    return _create(contents, list(contents))


def check_name(name: str) -> None:
    """Refuse what is no name of a suite."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_-]{0,63}", name):
        raise SuiteError(f"{name[:80]!r} is no name of a suite: letters, digits, _ and -")


def suite_files(material: Material, where: str) -> dict[str, str]:
    """Return the text of every file of a suite's folder."""
    tools: dict[str, JSON] = {"version": VERSION, "note": material.origin, "tools": worded(material.tools)}
    contract = Contract.from_json(tools, where)
    script = script_of(contract, material.outputs)
    validate(script, "executor", where)
    return {
        "tools.json": _pretty(tools),
        "executor.json": _pretty(script),
        "rules.json": _pretty({"version": VERSION}),
        **{f"prompt.{lang}.md": text for lang, text in PROMPTS.items()},
    }


def ground_of(material: Material, where: str) -> Ground:
    """Return the suite of the material as lint sees it, before anything is written."""
    tools = {"version": VERSION, "note": material.origin, "tools": worded(material.tools)}
    contract = Contract.from_json(tools, where)
    rules = Rules.from_json({"version": VERSION})
    return Ground(contract, ToolScript.from_json(script_of(contract, material.outputs)), rules)


def script_of(contract: Contract, outputs: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return an executor script that answers every tool with a placeholder of its declared shape."""
    rules = [
        {"tool": tool.name, "results": [{"ok": _placeholder(outputs.get(tool.name))}]}
        for tool in contract.tools
    ]
    return {"version": VERSION, "note": PLACEHOLDERS, "rules": rules}


def _placeholder(schema: JSON) -> JSON:
    made = sample(schema) if schema else {}
    return {"status": "ok"} if made in ({}, None) or too_deep(made) else made


def case_files(root: Path, name: str, cases: Sequence[JSON]) -> dict[Path, str]:
    """Return the text of a case file for every language of the cases."""
    langs = sorted({case["lang"] for case in cases})
    return {
        root / "cases" / f"{name}.{lang}.jsonl": "".join(
            json.dumps(case, ensure_ascii=False) + "\n" for case in cases if case["lang"] == lang
        )
        for lang in langs
    }


def _create(contents: Mapping[Path, str], checked: Sequence[Path]) -> Written:
    create_all(contents)
    return Written(list(contents), lint(checked))


def _pretty(value: JSON) -> str:
    canonical_json(value)  # refuses what would not come back as it was
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
