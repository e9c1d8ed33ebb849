"""The leaderboard's real data: what converts, and every way in which its checker and the judge disagree."""

import json
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.authoring.importing.support import files, import_, write
from toolbench.authoring.importing.bfcl import DIFFERENCES, import_bfcl
from toolbench.authoring.importing.material import Material
from toolbench.authoring.traces.recording import record
from toolbench.authoring.traces.saved import Answered, Asked, Saved
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.contract import Contract
from toolbench.domain.record import Attempt
from toolbench.domain.rules import NO_RULES
from toolbench.domain.suite import Suite
from toolbench.domain.tool_script import NO_SCRIPT
from toolbench.judging.score import score

PACKAGE = "bfcl-eval==2026.3.23"
LAYERS = {"decision", "selection", "syntax", "structure", "values"}
"""What its checker looks at as well."""

FUNCTION = {
    "name": "shop.find",
    "description": "Find things.",
    "parameters": {
        "type": "dict",
        "properties": {
            "what": {"type": "string", "description": "What."},
            "most": {"type": "float", "description": "Price."},
            "where": {"type": "dict", "properties": {"city": {"type": "string"}, "zip": {"type": "any"}}},
        },
        "required": ["what"],
    },
}


def folder_of(tmp_path: Path, answers: Any, **line: Any) -> Path:
    case = {
        "id": "a_0",
        "question": [[{"role": "user", "content": "Find a red lamp"}]],
        "function": [FUNCTION],
    }
    write(tmp_path / "data" / "BFCL_v4_simple_python.json", json.dumps({**case, **line}) + "\n")
    answer = {"id": "a_0", "ground_truth": answers}
    write(tmp_path / "data" / "possible_answer" / "BFCL_v4_simple_python.json", json.dumps(answer) + "\n")
    return tmp_path


def test_possible_answers_become_a_call_with_everything_that_is_as_good(tmp_path: Path) -> None:
    where = {"city": ["Riga", "Rīga"], "zip": ["", "LV-1010"]}
    given = {"what": ["red lamp", "lamp"], "most": ["", 5.5], "where": [where]}
    material = import_bfcl(str(folder_of(tmp_path, [{"shop.find": given}])))
    [case] = material.cases
    assert (case["class"], case["tools"]) == ("simple_python", ["shop_find"])
    [call] = case["expect"]["calls"]
    assert call["arguments"] == {"what": "red lamp", "most": 5.5, "where": {"city": "Riga", "zip": "LV-1010"}}
    assert call["accept"]["what"] == ["lamp"]
    assert call["accept"]["where"] == [
        {"city": "Riga"}, {"city": "Rīga", "zip": "LV-1010"}, {"city": "Rīga"},
    ]  # fmt: skip
    assert call["optional"] == ["most"]
    [tool] = material.tools
    assert tool["parameters"]["properties"]["where"]["properties"]["zip"] == {}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"question": []}, "its line is not as expected"),
        ({"question": [[]]}, "its last message is not the user's"),
        ({"function": []}, "no tool in it that could be used"),
        ({"function": [{"name": 5}]}, "no tool in it that could be used"),
        ({"id": "b_0"}, "there is no possible answer to it"),
    ],
)
def test_a_case_that_cannot_be_converted_is_named(line: Any, said: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, [{"shop.find": {"what": ["lamp"]}}], **line)
    result = import_("bfcl", folder, "--into", tmp_path / "bench")
    assert (result.exit_code, said in result.output) == (2, True), result.output
    assert files(tmp_path / "bench") == []


def test_a_folder_without_its_files_is_told(tmp_path: Path) -> None:
    result = import_("bfcl", tmp_path)
    assert (result.exit_code, "no file named BFCL_v4_<category>.json" in result.output) == (2, True)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked package: downloaded without what it depends on, into a folder that goes again."""
    folder = tmp_path_factory.mktemp("bfcl")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip(f"{PACKAGE} cannot be downloaded: {done.stderr.strip()[-100:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder / "package")
    return folder / "package"


@pytest.fixture(scope="module")
def material(package: Path) -> Material:
    return import_bfcl(str(package))


@pytest.mark.installed
def test_all_but_four_of_the_single_turn_cases_convert(package: Path) -> None:
    started = time.process_time()
    material = import_bfcl(str(package))
    took = time.process_time() - started
    assert len(material.cases) == 3637
    left_out = [remark for remark in material.remarks if "json:" in remark]
    assert len(left_out) == 4
    assert all("no tool in it that could be used" in remark for remark in left_out)
    assert took < 10


class Candidate(NamedTuple):
    """A call somebody may make in answer to a case, and the way it was made up."""

    kind: str
    arguments: dict[str, Any]


def candidates(given: dict[str, Any], required: list[str]) -> Iterator[Candidate]:
    """Yield right calls and wrong ones, made up from the possible answers to one call."""
    kept = {name: options for name, options in given.items() if options}
    first = {name: concrete(options[0]) for name, options in kept.items() if options[0] != ""}
    last = {name: concrete(options[-1]) for name, options in kept.items() if options[-1] != ""}
    needed = {name: value for name, value in first.items() if name in required}
    yield Candidate("first", first)
    yield Candidate("last", {**needed, **last})
    yield Candidate("needed", needed)
    yield Candidate("surplus", {**first, "nobody_asked": 1})
    for name, value in first.items():
        yield Candidate("missing", {key: one for key, one in first.items() if key != name})
        if isinstance(value, str):
            yield Candidate("spelling", {**first, name: f"{value.upper()}."})
            yield Candidate("value", {**first, name: f"{value} not"})
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield Candidate("value", {**first, name: value + 1})
            other = float(value) if isinstance(value, int) else int(value)
            yield Candidate("number", {**first, name: other})
        break


def concrete(option: Any) -> Any:
    """Return one value of a possible answer, whose objects list answers of their own."""
    if isinstance(option, dict):
        picked = {name: next(iter(options), "") for name, options in option.items()}
        return {name: concrete(value) for name, value in picked.items() if value != ""}
    return [concrete(one) for one in option] if isinstance(option, list) else option


def judged(suite: Suite, case: Case, tool: str, arguments: dict[str, Any]) -> set[str]:
    """Return the codes the judge finds in one call, of the layers that its checker has too."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    message = {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    saved = Saved("", [Asked(case.user_texts[0]), Answered("chat_completions", body)])
    made = record(saved, suite.of(case).contract.offered(case.tools), {})
    attempt = Attempt(
        *("run", "p", "m", "chat_completions", "bfcl", "en", "auto", case.id), 0, {}, "ok", made.stop,
        made.turns, made.calls, "", 0.0,
    )  # fmt: skip
    verdict = score(attempt, suite.keep([case]), BUILT_IN_CONDITIONS["auto"])
    assert verdict is not None
    return {finding.code for finding in verdict.findings if finding.layer in LAYERS}


def plain(value: Any) -> Any:
    """Return a value as the checker compares texts."""
    if isinstance(value, str):
        return re.sub(r"[ \,\.\/\-\_\*\^]", "", value).lower().replace("'", '"')
    return [plain(one) for one in value] if isinstance(value, list) else value


def explained(here: set[str], there: tuple[bool | None, str], category: str, kind: str) -> str | None:
    """Return the class of a disagreement, by what either side gives as its reason."""
    valid, reason = there
    if category.startswith(("simple_java", "simple_javascript")):
        return "texts of Java and JavaScript"
    if valid is None:
        return "a fault of its checker"
    if valid:
        if here <= {"argument_mismatch"} and kind == "spelling":
            return "spelling"
        if here & {"missing_required", "argument_mismatch"} and kind in ("missing", "needed", "last"):
            return "left out"
        return "schema" if here - {"argument_mismatch"} else None
    if reason.startswith("type_error"):
        return "number for number" if kind in ("number", "first", "last", "needed") else None
    if reason.endswith(("missing_optional", "missing_required")):
        return "left out"
    return "default" if reason.endswith("unexpected_param") else None


@pytest.mark.installed
def test_every_disagreement_with_its_checker_has_a_name(
    package: Path, material: Material, capsys: Any
) -> None:
    tools = {"version": "1", "tools": list(material.tools)}
    contract = Contract.from_json(tools, "bfcl")
    suite = Suite("bfcl", contract, {"en": ""}, NO_SCRIPT, NO_RULES, {}, ())
    asked, mine = [], []
    for path in sorted(package.glob("bfcl_eval/data/BFCL_v4_*.json")):
        answers = path.parent / "possible_answer" / path.name
        category = path.stem.removeprefix("BFCL_v4_")
        if (
            not answers.exists()
            or category.startswith(("multi_turn", "memory", "web"))
            or "parallel" in category
        ):
            continue
        cases = {case["id"]: case for case in material.cases if case["class"] == category}
        lines = zip(path.read_text().splitlines(), answers.read_text().splitlines(), strict=True)
        for line, answer in list(lines)[::4]:
            case, possible = json.loads(line), json.loads(answer)["ground_truth"]
            [(name, given)] = possible[0].items()
            function = next(one for one in case["function"] if one["name"] == name)
            language = {"simple_java": "java", "simple_javascript": "javascript"}.get(category, "python")
            own = Case.from_json(cases[case["id"]])
            for kind, arguments in candidates(given, function["parameters"]["required"]):
                asked.append([case["function"], [{name: arguments}], possible, language, category])
                mine.append((judged(suite, own, own.expect.calls[0].tool, arguments), category, kind))
    program = [sys.executable, str(Path(__file__).parent / "bfcl_checker.py"), str(package)]
    text = "\n".join(json.dumps(one) for one in asked) + "\n"
    done = subprocess.run(program, input=text, capture_output=True, text=True, timeout=200, check=True)
    theirs = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    classes: Counter[str] = Counter()
    unexplained = []
    for (codes, category, kind), there, one in zip(mine, theirs, asked, strict=True):
        if (not codes) == there[0]:
            classes["agreed"] += 1
            continue
        name = explained(codes, there, category, kind)
        classes[str(name)] += 1
        if name is None:
            unexplained.append((sorted(codes), there, category, kind, one[1], one[2]))
    with capsys.disabled():
        print(f"\n{sum(classes.values())} calls: {dict(classes.most_common())}")
    assert unexplained[:5] == []
    assert set(classes) <= {"agreed", *DIFFERENCES}
    assert classes["agreed"] / sum(classes.values()) >= 0.82
