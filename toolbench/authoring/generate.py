"""Makes a suite's cases from ``contracts/<suite>/variants.json``: base cases and their rule-made variants.

Texts are templates written by people, one set a language. Slots are dealt by a stored seed, and every
expectation is derived (:mod:`toolbench.authoring.expectation`), so nothing that writes a question also writes
its answer. The same row is dealt in every language: case ``x`` in Russian and in English are one scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from toolbench.authoring.expectation import expectation, wanted_calls
from toolbench.authoring.outcomes import Book, Playing
from toolbench.authoring.slots import Row, deal, fill, render
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Permissions
from toolbench.domain.contract import Contract
from toolbench.domain.files import read_json, write_text_atomic
from toolbench.domain.suite import load_rules, load_script
from toolbench.errors import SuiteError

FILLED = ("tools", "context", "policy", "compare", "end_state")
"""Parts of a recipe that go into the case as they are, with the slots filled."""
MAX_DEALS = 100
"""Deals tried for one case before its rule counts as exhausted."""


def generate(suite_dir: Path, lang: str, *, seed: int | None = None) -> list[dict[str, JSON]]:
    """Make all cases of a suite in one language, base cases first within each class.

    Parameters
    ----------
    suite_dir
        ``contracts/<suite>``, with ``variants.json`` in it.
    lang
        One of the languages the file declares.
    seed
        Another seed than the stored one, for a fresh sample of the same rules.

    Raises
    ------
    SuiteError
        Naming the class and the rule that cannot be carried out.
    """
    path = suite_dir / "variants.json"
    data = read_json(path, "variants")
    if lang not in data["langs"]:
        raise SuiteError(f"{path}: langs: no language {lang!r}")
    book = Book(
        data=data,
        contract=Contract.load(suite_dir / "tools.json"),
        executor=load_script(suite_dir),
        rules=load_rules(suite_dir),
        lang=lang,
        seed=data["seed"] if seed is None else seed,
    )
    cases: list[dict[str, JSON]] = []
    for entry in data["classes"]:
        said: set[str] = set()
        for spec in _specs(entry):
            try:
                cases += _made(book, spec, said)
            except SuiteError as fault:
                raise SuiteError(f"{path}: class {entry['class']}, rule {spec['rule']}: {fault}") from None
    return cases


def write(suite_dir: Path, cases_dir: Path, *, seed: int | None = None) -> list[Path]:
    """Write ``<cases_dir>/<suite>.<lang>.jsonl`` for every language and return the files written."""
    written = []
    for lang in read_json(suite_dir / "variants.json", "variants")["langs"]:
        path = cases_dir / f"{suite_dir.name}.{lang}.jsonl"
        write_text_atomic(path, as_jsonl(generate(suite_dir, lang, seed=seed)))
        written.append(path)
    return written


def as_jsonl(cases: Sequence[Mapping[str, JSON]]) -> str:
    """Return cases as JSON Lines text, keys in the order they were made."""
    return "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)


def _specs(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one complete recipe for the base case and each variant of a class."""
    shared = {key: value for key, value in entry.items() if key not in ("base", "variants")}
    variants = list(entry.get("variants", ()))
    if "base" in entry:
        base = entry["base"]
        variants.insert(
            0,
            {
                "rule": "base",
                "count": 1,
                "core": 1,
                "text": {lang: [text] for lang, text in base["text"].items()},
                "rows": {slot: [row] for slot, row in base.get("rows", {}).items()},
                "tags": base.get("tags", []),
            },
        )
    for variant in variants:
        yield {**shared, **variant, "fill": {**shared.get("fill", {}), **variant.get("fill", {})}}


def _made(book: Book, spec: Mapping[str, Any], said: set[str]) -> list[dict[str, JSON]]:
    """Make the cases of one rule; ``said`` holds the user texts of the class, none of which may recur."""
    templates = spec["text"].get(book.lang)
    if not templates:
        raise SuiteError(f"no text in {book.lang!r}")
    cases = []
    for index in range(spec["count"]):
        template = templates[index % len(templates)].replace("{facts}", _shuffled_facts(book, spec, index))
        for attempt in range(MAX_DEALS):
            rows = _dealt_rows(book, spec, index, attempt)
            text = _sentence(render(template, rows))
            if _distinct(spec, rows) and text not in said:
                break
        else:
            raise SuiteError(f"only {index} different texts can be made, {spec['count']} are wanted")
        said.add(text)
        cases.append(_case(book, spec, index + 1, rows, text))
    return cases


def _dealt_rows(book: Book, spec: Mapping[str, Any], index: int, attempt: int) -> dict[str, Row]:
    """Deal a row to every slot; further attempts at first leave alone the slots whose rows the rule names."""
    rows = {}
    for slot, name in spec["fill"].items():
        try:
            table = book.data["slots"][name]
            named = spec.get("rows", {}).get(slot)
            chosen = named or [key for key, row in table.items() if not row.get("special")]
            again = f"|{attempt}" if attempt and (not named or attempt > MAX_DEALS // 2) else ""
            key = deal(chosen, f"{book.seed}|{spec['class']}|{spec['rule']}|{slot}{again}", index)
            rows[slot] = Row.from_json(key, table[key], book.lang)
        except KeyError as missing:
            raise SuiteError(f"slot {slot}: there is no table or row {missing}") from None
    return rows


def _distinct(spec: Mapping[str, Any], rows: Mapping[str, Row]) -> bool:
    values = [json.dumps(rows[slot].value) for slot in spec.get("distinct", ()) if slot in rows]
    return len(values) == len(set(values))


def _shuffled_facts(book: Book, spec: Mapping[str, Any], index: int) -> str:
    fragments = spec.get("facts", {}).get(book.lang, ())
    # The first permutation is the order of the base case.
    orders = {str(order): order for order in list(permutations(range(len(fragments))))[1:]}
    if not orders:
        return ""
    chosen = orders[deal(list(orders), f"{book.seed}|{spec['class']}|{spec['rule']}|facts", index)]
    return ", ".join(fragments[position] for position in chosen)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _case(
    book: Book, spec: Mapping[str, Any], number: int, rows: Mapping[str, Row], text: str
) -> dict[str, JSON]:
    rule = spec["rule"]
    policy = fill(spec.get("policy", {}), rows)
    playing = Playing(book, Permissions.from_json(policy), spec.get("asks", {}))
    playing.happen(wanted_calls(spec.get("history", ()), rows))
    case: dict[str, JSON] = {
        "id": spec["class"] if rule == "base" else f"{spec['class']}.{rule}-{number}",
        "class": spec["class"],
        "lang": book.lang,
        **_opening(playing, text),
        **{key: fill(spec[key], rows) for key in FILLED if key in spec},
        **({"system": spec["system"][book.lang]} if "system" in spec else {}),
        **({"on_ask": _told(book, spec["on_ask"], rows)} if "on_ask" in spec else {}),
        "expect": expectation(book, spec, rows, playing),
    }
    if "reply" in spec:
        reply = {"kind": "tool_call", **spec["reply"]}
        user = _sentence(render(reply["text"][book.lang], rows))
        case["turns"] = [{"user": user, "expect": expectation(book, reply, rows, playing.confirmed())}]
    tags = [rule, *spec.get("tags", ()), *(tag for row in rows.values() for tag in row.tags)]
    case["tags"] = list(dict.fromkeys([*tags, *(["core"] if number <= spec.get("core", 0) else [])]))
    case["origin"] = {"rule": rule, "seed": book.seed, "dataset": book.data["version"]}
    return case


def _told(book: Book, replies: Mapping[str, Mapping[str, str]], rows: Mapping[str, Row]) -> dict[str, JSON]:
    return {slot: _sentence(render(texts[book.lang], rows)) for slot, texts in replies.items()}


def _opening(playing: Playing, text: str) -> dict[str, JSON]:
    """Return what the case starts from: one user message, or a history of answered calls after it."""
    if not playing.steps:
        return {"user": text}
    messages: list[JSON] = [{"role": "user", "content": text}]
    for number, step in enumerate(playing.steps, 1):
        made = {"id": f"call_{number}", "name": step.call["tool"], "arguments": step.call["arguments"]}
        messages.append({"role": "assistant", "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": made["id"]})
    return {"messages": messages}
