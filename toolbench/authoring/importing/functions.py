"""Python functions as tools. Importing their module runs it; no function is ever called."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from toolbench.authoring.importing.effects import guess_effect
from toolbench.authoring.importing.material import Material
from toolbench.domain.canonical import JSON
from toolbench.domain.from_function import FunctionError, tool_entry
from toolbench.errors import SuiteError


def import_module_functions(source: str) -> Material:
    """Read ``MODULE`` or ``MODULE:FUNC,FUNC``; a module is found as Python finds it from the current folder.

    Raises
    ------
    SuiteError
        When the module raises while it is imported, has no such function, or none that can be a tool.
    """
    name, _, wanted = source.partition(":")
    module = _imported(name)
    if wanted:
        names = [part.strip() for part in wanted.split(",") if part.strip()]
        for one in names:
            if not hasattr(module, one):
                raise SuiteError(f"module {name}: has no {one!r}")
        functions = [getattr(module, one) for one in names]
    else:
        functions = list(_own_functions(module))
    return from_functions(functions, f"functions of the Python module {name}")


def from_functions(functions: Iterable[Callable[..., Any]], origin: str) -> Material:
    """Return the tools that functions make; what cannot become a tool is left out with its reason.

    Raises
    ------
    SuiteError
        When no tool is left.
    """
    tools: dict[str, JSON] = {}
    remarks: list[str] = []
    for function in functions:
        shown = getattr(function, "__name__", repr(function)[:40])
        effect, why = guess_effect(shown)
        try:
            entry = tool_entry(function, effect)
        except FunctionError as fault:
            remarks.append(f"{shown}: left out: {fault}")
            continue
        if entry["name"] in tools:
            remarks.append(f"{shown}: left out: a function of this name came before")
        tools.setdefault(entry["name"], {**entry, "guessed": {"effect": why}})
    if not tools:
        reason = f": {remarks[0]}" if remarks else ": there is no function in it"
        raise SuiteError(f"{origin}: no function could become a tool{reason}")
    return Material(origin, list(tools.values()), (), remarks)


def _imported(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise SuiteError(
            f"{name[:80]!r} is no name of a module; for a file tools.py in this folder write: tools"
        )
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        text = " ".join(str(fault).split())[:160]
        raise SuiteError(f"module {name}: {type(fault).__name__} while it was imported: {text}") from None
    finally:
        sys.path.remove(here)


def _own_functions(module: ModuleType) -> Iterable[Callable[..., Any]]:
    """Yield what the module names in ``__all__``, else its public functions, in the order of its text."""
    listed = getattr(module, "__all__", None)
    for name, value in vars(module).items():
        public = name in listed if listed is not None else not name.startswith("_")
        if (
            public
            and inspect.isfunction(value)
            and (listed is not None or value.__module__ == module.__name__)
        ):
            yield value
