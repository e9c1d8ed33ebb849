"""The single-turn cases of the Berkeley Function-Calling Leaderboard, from the data folder of its package.

A case keeps its category as its class, its tools and every possible answer. Nothing of the package is run.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.tool_list import from_values
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.files import read_jsonl, validate
from toolbench.errors import SuiteError

FILE = re.compile(r"BFCL_v\d+_(?P<category>\w+)\.json")
OTHERS = ("multi_turn", "memory", "web_search", "format_sensitivity")
"""Categories that are played in an executable world of their own, or are no cases."""
PLACES = (".", "data", "bfcl_eval/data")
"""Where the files are, from the folder that is named."""
MOST = 512
"""Spelled-out answers of one argument; more of them are not written into a case."""

TYPES: Mapping[str, str] = {
    "dict": "object", "float": "number", "tuple": "array", "String": "string", "char": "string",
    "Array": "array", "ArrayList": "array", "Queue": "array", "Stack": "array", "Set": "array",
    "HashMap": "object", "Hashtable": "object", "long": "integer", "short": "integer", "byte": "integer",
    "Bigint": "integer", "double": "number", "Boolean": "boolean", "bool": "boolean", "list": "array",
}  # fmt: skip
"""Its names of types → those of JSON Schema; ``any`` sets no type."""

DIFFERENCES: Mapping[str, str] = {
    "spelling": "its checker ignores case, blanks, quotes and ,./-_*^ in texts; exact mode does not",
    "number for number": "its checker takes 5 where 5.0 is due in Python and not the other way round; here "
    "both are the same number",
    "schema": "its checker looks at types alone; here enum, items and required fields count too",
    "default": "an optional argument that is equal to its default may be given here; there it must be listed",
    "left out": "its checker lets an argument be left out only if an empty text is among its answers, and "
    "takes the empty text itself; here it is left out",
    "texts of Java and JavaScript": "its checker wants every value of these as source text and converts it; "
    "here arguments are JSON",
}
"""Named ways in which its AST checker and the judge can disagree on a call, and why."""


def import_bfcl(source: str) -> Material:
    """Read the data folder of the package, or one that holds it.

    Raises
    ------
    SuiteError
        When there is no file of cases, one is broken, or none could be converted.
    """
    folder = next((place for name in PLACES if _files(place := Path(source) / name)), None)
    if folder is None:
        raise SuiteError(f"{source}: no file named BFCL_v4_<category>.json in it")
    reader = _Reader()
    for path, category in _files(folder):
        if category.startswith(OTHERS):
            reader.lost[f"{category}: left out: its world of executable tools is not part of the data"] += 1
        else:
            reader.read(path, category)
    if not reader.cases:
        raise SuiteError(f"{source}: no case in it that could be used: {'; '.join(list(reader.lost)[:2])}")
    told = [text if times == 1 else f"{text} ({times} times)" for text, times in reader.lost.items()]
    apart = [f"judged differently from its AST checker: {name}: {why}" for name, why in DIFFERENCES.items()]
    origin = f"cases of the Berkeley Function-Calling Leaderboard, {folder.resolve().name}"
    return Material(origin, list(reader.tools.values()), reader.cases, (*told, *apart))


def _files(folder: Path) -> list[tuple[Path, str]]:
    matches = ((path, FILE.fullmatch(path.name)) for path in sorted(folder.glob("BFCL_v*.json")))
    return [(path, match["category"]) for path, match in matches if match]


class _Reader:
    """Turns lines into cases; the first tool of a name is the contract's, another one is its case's own."""

    def __init__(self) -> None:
        self.tools: dict[str, JSON] = {}
        self.cases: list[JSON] = []
        self.lost: Counter[str] = Counter()
        self._seen: set[str] = set()

    def read(self, path: Path, category: str) -> None:
        """Read the cases of a file and the answers beside it."""
        beside = path.parent / "possible_answer" / path.name
        answers = (
            {line["id"]: line["ground_truth"] for _, line in read_jsonl(beside)} if beside.exists() else {}
        )
        for number, line in read_jsonl(path):
            where = f"{path.name}:{number}"
            try:
                case = self._case(line, category, answers)
                validate(case, "case", where)
            except (SuiteError, LookupError, TypeError, AttributeError) as fault:
                self.lost[f"{where}: left out: {_reason(fault)}"] += 1
                continue
            self._seen.add(case["id"])
            self.cases.append(case)

    def _case(self, line: Any, category: str, answers: Mapping[str, Any]) -> dict[str, JSON]:
        made = from_values([[_translated(tool) for tool in line["function"]]], line["id"])
        for remark in made.remarks:
            what = remark.partition(": ")[2]
            self.lost["tools renamed: not every provider takes a dot" if "renamed" in what else what] += 1
        messages = line["question"][0]
        system = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
        said = [
            {"role": one["role"], "content": one["content"]} for one in messages if one["role"] != "system"
        ]
        identity = re.sub(r"[^A-Za-z0-9_.-]+", "_", line["id"])[:100]
        if identity in self._seen:
            raise SuiteError(f"the id {identity} came before")
        expect = _expectation(category, answers.get(line["id"]), made)
        if not said or said[-1]["role"] != "user":
            raise SuiteError("its last message is not the user's")
        return {
            "id": identity,
            "class": category,
            "lang": "en",
            **({"user": said[0]["content"]} if len(said) == 1 else {"messages": said}),
            **({"system": system} if system else {}),
            "tools": [self._offered(tool) for tool in made.tools],
            "expect": expect,
            "tags": ["bfcl", category],
        }

    def _offered(self, tool: JSON) -> JSON:
        plain = {key: value for key, value in tool.items() if key != "guessed"}
        known = self.tools.setdefault(tool["name"], plain)
        return tool["name"] if known == plain else plain


def _expectation(category: str, answers: Any, made: Material) -> dict[str, JSON]:
    if answers is None:
        if category.endswith("irrelevance"):
            return {"kind": ["clarification", "text", "refusal"], "must_not_call": True}
        if category.endswith("relevance"):
            return {"kind": "tool_call"}
        raise SuiteError("there is no possible answer to it")
    calls = [_call(made.names[name], given) for answer in answers for name, given in answer.items()]
    return {"kind": "tool_call", "calls": calls}


def _call(tool: str, given: Mapping[str, Sequence[JSON]]) -> JSON:
    """Return one expected call: the first of every argument's answers, and the others as good as it."""
    arguments: dict[str, JSON] = {}
    accept: dict[str, list[JSON]] = {}
    optional = [name for name, options in given.items() if "" in options]
    for name, options in given.items():
        spelled = _spelled_out([option for option in options if option != ""])
        if len(spelled) > MOST:
            raise SuiteError(f"{name}: more than {MOST} possible answers")
        if spelled:
            arguments[name] = spelled[0]
            accept |= {name: spelled[1:]} if len(spelled) > 1 else {}
    optional = [name for name in optional if name in arguments]
    return {
        "tool": tool,
        "arguments": arguments,
        **({"accept": accept} if accept else {}),
        **({"optional": optional} if optional else {}),
    }


def _spelled_out(options: Sequence[JSON]) -> list[JSON]:
    """Return every value that a list of answers stands for: objects in it list answers of their own."""
    found: dict[str, JSON] = {}
    for option in options:
        for value in itertools.islice(_values(option), MOST + 1):
            found.setdefault(canonical_json(value), value)
    return list(found.values())


def _values(option: JSON) -> Iterator[JSON]:
    if isinstance(option, dict):
        choices = [[(name, value) for value in _choices(given)] for name, given in option.items()]
        for picked in itertools.product(*choices):
            yield {name: value for name, value in picked if value is not _ABSENT}
    elif isinstance(option, list) and any(isinstance(one, dict) for one in option):
        for items in itertools.product(*(list(itertools.islice(_values(one), MOST)) for one in option)):
            yield list(items)
    else:
        yield option


_ABSENT = object()


def _choices(given: JSON) -> list[Any]:
    """Return what a field of an object may be; an empty text says that it may be missing."""
    options = given if isinstance(given, list) else [given]
    absent = [_ABSENT] if "" in options else []
    return [*(value for option in options if option != "" for value in _values(option)), *absent]


def _translated(node: JSON) -> JSON:
    """Return a tool with its types as JSON Schema names them."""
    if isinstance(node, list):
        return [_translated(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _translated(value) for key, value in node.items()}
    kind = made.get("type")
    if isinstance(kind, str):
        made["type"] = TYPES.get(kind, kind)
        if made["type"] in ("any", "Any", ""):
            del made["type"]
    return made


def _reason(fault: Exception) -> str:
    text = " ".join(str(fault).split())[:160]
    return text if isinstance(fault, SuiteError) else f"its line is not as expected ({text})"
