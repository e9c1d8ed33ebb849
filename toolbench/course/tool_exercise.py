"""Exercise: write a tool, and build its contract from the function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from toolbench.course.problems import Problem, attempted, problem
from toolbench.domain.contract import ToolSpec
from toolbench.domain.from_function import FunctionError
from toolbench.errors import SuiteError

NAME = "convert_temperature"
PARAMETERS = {"value": "number", "to": "string"}
UNITS = ["C", "F"]
EXAMPLES = ((100, "F", 212), (32, "C", 0), (-40, "F", -40))
"""Value, unit to convert to, expected value."""
TOO_COLD = ((-300, "F"), (-500, "C"))
SHORTEST_DESCRIPTION = 25
SHORTEST_PARAMETER = 8
SHORTEST_REFUSAL = 12


def check_tool(answer: object) -> list[Problem]:
    """Return what is wrong with a student's ``convert_temperature``; the contract first, then the work."""
    if not callable(answer):
        return [problem("tool.not_a_function", found=type(answer).__name__)]
    if not getattr(answer, "__doc__", None) and not getattr(answer, "__annotations__", None):
        return [problem("tool.not_started")]
    try:
        spec = ToolSpec.from_function(answer)
    except FunctionError as fault:
        return [problem(f"contract.{fault.code}", parameter=fault.parameter, fault=fault)]
    except SuiteError as fault:
        return [problem("contract.other", fault=fault)]
    return _contract(spec) or _work(answer)


def _contract(spec: ToolSpec) -> list[Problem]:
    found = []
    if spec.name != NAME:
        found.append(problem("tool.name", found=spec.name, wanted=NAME))
    if set(spec.properties) != set(PARAMETERS):
        return [*found, problem("tool.parameters", found=", ".join(spec.properties))]
    for name, kind in PARAMETERS.items():
        schema = spec.properties[name]
        if schema.get("type") != kind:
            found.append(problem("tool.type", parameter=name, found=schema.get("type"), wanted=kind))
        elif len(str(schema["description"])) < SHORTEST_PARAMETER:
            found.append(problem("tool.parameter_short", parameter=name, found=schema["description"]))
    if sorted(spec.properties["to"].get("enum", [])) != UNITS:
        found.append(problem("tool.enum"))
    if set(spec.required) != set(PARAMETERS):
        found.append(problem("tool.required", found=", ".join(set(PARAMETERS) - set(spec.required))))
    if len(spec.described("")) < SHORTEST_DESCRIPTION:
        found.append(problem("tool.description_short", found=spec.described("")))
    return found


def _work(fn: Callable[..., Any]) -> list[Problem]:
    for value, unit, wanted in EXAMPLES:
        result, error = attempted(lambda value=value, unit=unit: fn(value=value, to=unit))  # type: ignore[misc]
        call = f"{NAME}(value={value}, to='{unit}')"
        if error is not None:
            return [problem("tool.raised", call=call, error=f"{type(error).__name__}: {error}")]
        if not isinstance(result, dict) or set(result) != {"value", "unit"}:
            return [problem("tool.shape", call=call, found=result)]
        if attempted(lambda result=result: json.dumps(result, allow_nan=False))[1]:  # type: ignore[misc]
            return [problem("tool.not_json", call=call, found=result)]
        if result["unit"] != unit or not _close(result["value"], wanted):
            return [problem("tool.wrong", call=call, found=result, wanted={"value": wanted, "unit": unit})]
    for value, unit in TOO_COLD:
        result, error = attempted(lambda value=value, unit=unit: fn(value=value, to=unit))  # type: ignore[misc]
        call = f"{NAME}(value={value}, to='{unit}')"
        if error is None:
            return [problem("tool.no_refusal", call=call, found=result)]
        if not isinstance(error, ValueError):
            return [problem("tool.wrong_error", call=call, found=type(error).__name__)]
        if len(str(error)) < SHORTEST_REFUSAL:
            return [problem("tool.bare_error", call=call, found=error)]
    return []


def _close(found: object, wanted: float) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found - wanted) < 1e-6
