"""What a made case expects, derived by rule from slot values, the contract and the executor script.

No expectation is written next to a text. The rules:

* every wanted call valid under the contract -> these calls are expected, as far as rules and policy let them
  be made (:mod:`toolbench.authoring.outcomes`);
* a required argument absent or invalid -> no call, and exactly those arguments must be asked for;
* no wanted call may be made now (to be confirmed, already done, not permitted …) -> no call;
* nothing wanted, or everything already called -> no call;
* what the answer must say after the results follows from the outcome the executor script gives each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolbench.authoring.outcomes import Book, Playing, Step, is_reference
from toolbench.authoring.slots import SLOT, Row, fill
from toolbench.domain.canonical import JSON
from toolbench.domain.contract import Contract
from toolbench.errors import SuiteError


def wanted_calls(specs: Sequence[Mapping[str, Any]], rows: Mapping[str, Row]) -> list[dict[str, JSON]]:
    """Return calls with slot values as arguments and, where rows have them, further accepted values."""
    calls = []
    for spec in specs:
        call = {**spec, "arguments": fill(spec["arguments"], rows)}
        accept = {
            name: list(found)
            for name, template in spec["arguments"].items()
            if (found := _accept(template, rows))
        }
        if "or" in spec:
            call["or"] = wanted_calls(spec["or"], rows)
        calls.append({**call, "accept": accept} if accept else call)
    return calls


def _accept(template: JSON, rows: Mapping[str, Row]) -> Sequence[JSON]:
    whole = SLOT.fullmatch(template) if isinstance(template, str) else None
    return rows[whole[1]].accept if whole and whole[1] in rows else ()


def expectation(
    book: Book, spec: Mapping[str, Any], rows: Mapping[str, Row], playing: Playing
) -> dict[str, JSON]:
    """Return the ``expect`` object of one answer.

    Parameters
    ----------
    book, spec, rows
        The suite, the recipe of the case, and the rows dealt to its slots.
    playing
        What has been called before; the expected calls are played on it.

    Raises
    ------
    SuiteError
        When the rules give another kind of behaviour than the class declares.
    """
    wanted = wanted_calls(spec.get("calls", ()), rows)
    faults = _faults(book.contract, wanted)
    chain = spec.get("order") == "strict"
    rested_on = list(playing.steps) if spec.get("history") else []
    steps = [] if faults else playing.play(wanted, chain=chain)
    expect: dict[str, JSON] = {"kind": spec["kind"]}
    if "tool_call" in _as_list(spec["kind"]):
        if not steps:
            reason = f"{', '.join(faults)} is to be asked for" if faults else "nothing may be called"
            raise SuiteError(f"a call is declared, but {reason}")
        calls = [step.call for step in steps]
        expect |= {"calls": calls, **{key: spec[key] for key in ("order", "parallel") if key in spec}}
    else:
        if steps:
            raise SuiteError("no call is declared, but every argument of the wanted call is there and valid")
        expect |= {"must_not_call": True, **({"missing_fields": faults} if faults else {})}
    if "forbidden_tools" in spec:
        expect["forbidden_tools"] = spec["forbidden_tools"]
    if "forbidden_calls" in spec:
        expect["forbidden_calls"] = fill(spec["forbidden_calls"], rows)
    if "contains_any" in spec:
        expect["contains_any"] = book.wording(spec["contains_any"], rows)
    return expect | _after_results(book, [*rested_on, *steps], spec, rows)


def _as_list(kind: str | Sequence[str]) -> list[str]:
    return [kind] if isinstance(kind, str) else list(kind)


def _faults(contract: Contract, calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the arguments to ask for, in the order the contract requires them.

    What an earlier result will give is not asked for.
    """
    names: list[str] = []
    for call in calls:
        tool = contract.by_name.get(call["tool"])
        if tool is None:
            raise SuiteError(f"unknown tool {call['tool']!r}")
        to_come = {name for name, value in call["arguments"].items() if is_reference(value)}
        at_fault = {issue.keys[0] for issue in tool.issues(call["arguments"]) if issue.keys}
        names += [name for name in tool.properties if name in at_fault - to_come and name not in names]
    return names


def _after_results(
    book: Book, steps: Sequence[Step], spec: Mapping[str, Any], rows: Mapping[str, Row]
) -> dict[str, JSON]:
    # The steps of a chain are means; only what it came to must be told.
    told = steps[-1:] if spec.get("order") == "strict" else steps
    final = {
        "facts": _each_once(fact for step in told for fact in step.facts(book, rows)),
        "answers": _each_once(answer for step in told if len(told) > 1 for answer in step.answer(book, rows)),
    }
    result: dict[str, JSON] = {}
    if any(final.values()):
        result["final"] = {key: value for key, value in final.items() if value}
    recoveries = [step.follows["recovery"] for step in steps if "recovery" in step.follows]
    if recoveries:
        result["recovery"] = _recovery(book, recoveries, rows, several=len(told) > 1)
    return result


def _each_once(facts: Iterable[list[str]]) -> list[list[str]]:
    return [list(fact) for fact in dict.fromkeys(map(tuple, facts))]


def _recovery(
    book: Book, recoveries: Sequence[Mapping[str, Any]], rows: Mapping[str, Row], several: bool
) -> dict[str, JSON]:
    kinds = list(dict.fromkeys(kind for recovery in recoveries for kind in _as_list(recovery["kind"])))
    if several:
        # After the error of one request the other one may still be under way.
        return {"kind": list(dict.fromkeys([*kinds, "tool_call"]))}
    recovery: dict[str, JSON] = {
        "kind": kinds,
        **{k: v for k, v in recoveries[0].items() if k == "forbidden_tools"},
    }
    if "contains_any" in recoveries[0]:
        recovery["contains_any"] = book.wording(recoveries[0]["contains_any"], rows)
    return recovery
