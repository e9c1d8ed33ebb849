"""A contract entry from a typed and documented Python function.

What a model is told comes from three places: the name, the docstring (NumPy or Google style) and the
annotations. What these cannot say exactly is refused, because a contract that lets a model make a call which
the function does not take would blame the model for it.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from toolbench.domain.canonical import JSON
from toolbench.domain.files import validate
from toolbench.domain.validation import argument_issues, build_validator
from toolbench.errors import SuiteError

PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
"""Python type → type of JSON Schema."""

_SECTION = re.compile(
    r"^(Parameters|Other Parameters|Args|Arguments|Keyword Args|Returns?|Yields?|Raises|Warns|Examples?"
    r"|Notes?|See Also|References|Attributes|Methods|Warnings?|Todo)\s*:?\s*$"
)
_OF_PARAMETERS = ("Parameters", "Other Parameters", "Args", "Arguments", "Keyword Args")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


class FunctionError(SuiteError):
    """A function cannot become a tool.

    Attributes
    ----------
    code
        Stable machine word: ``not_a_function``, ``no_docstring``, ``no_annotation``, ``no_description``,
        ``unknown_parameter``, ``kind``, ``type``, ``default`` or ``name``.
    parameter
        The parameter at fault, or empty.
    """

    def __init__(self, code: str, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.parameter = parameter


def tool_entry(fn: Callable[..., Any], effect: Literal["read", "write"] = "read") -> dict[str, JSON]:
    """Return the entry of ``tools.json`` that offers a function to a model.

    Parameters
    ----------
    fn
        A function or bound method. Annotations may be ``str``, ``int``, ``float``, ``bool``, ``Literal``,
        lists, ``dict`` with string keys, ``TypedDict``, unions of these, and ``Annotated`` with a description
        (a string) or further schema keywords (a dict). A parameter with a default, or that may be ``None``,
        can be left out; a missing ``Optional`` stands for ``None``.
    effect
        Whether calling it changes anything.

    Raises
    ------
    FunctionError
        For what cannot be expressed, naming function and parameter and saying what to add.
    """
    if not inspect.isroutine(fn) or getattr(fn, "__name__", "<lambda>") == "<lambda>":
        raise FunctionError("not_a_function", f"{fn!r:.80}: a tool is made from a function with a name")
    where = f"function {fn.__name__}"
    description, documented = read_docstring(inspect.getdoc(fn) or "")
    if not description:
        raise FunctionError(
            "no_docstring", f"{where}: no docstring: its first lines tell the model what it does"
        )
    signature, hints = _signature(fn, where)
    for name in documented:
        if name not in signature.parameters:
            message = f"{where}: the docstring describes {name!r}, which is no parameter"
            raise FunctionError("unknown_parameter", message, name)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    for name, parameter in signature.parameters.items():
        place = f"{where}: parameter {name}"
        entry, optional = _parameter(parameter, hints, documented.get(name, ""), place)
        schema["properties"][name] = entry
        if not optional:
            schema["required"].append(name)
    entry = {"name": fn.__name__, "description": description, "parameters": schema, "effect": effect}
    try:
        validate({"version": "1", "tools": [entry]}, "contract", where)
    except SuiteError as fault:
        raise FunctionError("name", str(fault)) from None
    return entry


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description before the first section, and the description of each documented parameter.

    Paragraphs stay paragraphs; the lines of one become one line.
    """
    lines = text.splitlines()
    sections = [index for index, line in enumerate(lines) if _SECTION.match(line)]
    first = sections[0] if sections else len(lines)
    found: dict[str, str] = {}
    for start, end in itertools.pairwise([*sections, len(lines)]):
        if lines[start].strip().rstrip(":").strip() in _OF_PARAMETERS:
            body = lines[start + 1 : end]
            numpy = bool(body) and re.fullmatch(r"-{3,}", body[0].strip()) is not None
            found |= _entries(body[1:], _NUMPY_ENTRY) if numpy else _entries(body, _GOOGLE_ENTRY)
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines[:first]))
    return "\n\n".join(filter(None, (" ".join(paragraph.split()) for paragraph in paragraphs))), found


def _entries(body: Sequence[str], head: re.Pattern[str]) -> dict[str, str]:
    """Return name → text of a section; what is indented deeper than a name belongs to it."""
    filled = [line for line in body if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in filled:
        match = head.match(line[margin:])
        if match and not line[margin].isspace():
            names = [name.strip().lstrip("*") for name in match.group(1).split(",")]
            texts |= {name: [match.group(2)] if head is _GOOGLE_ENTRY else [] for name in names}
        else:
            for name in names:
                texts[name].append(line.strip())
    return {name: " ".join(filter(None, parts)) for name, parts in texts.items()}


def _signature(fn: Callable[..., Any], where: str) -> tuple[inspect.Signature, Mapping[str, Any]]:
    try:
        return inspect.signature(fn), typing.get_type_hints(fn, include_extras=True)
    except NameError as fault:
        raise FunctionError("type", f"{where}: an annotation names something unknown: {fault}") from None
    except (TypeError, ValueError, SyntaxError) as fault:
        raise FunctionError("not_a_function", f"{where}: its signature cannot be read: {fault}") from None


def _parameter(
    parameter: inspect.Parameter, hints: Mapping[str, Any], documented: str, where: str
) -> tuple[dict[str, JSON], bool]:
    """Return a parameter's schema, and whether it may be left out."""
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        kind = (
            "takes any number of values"
            if parameter.kind.name.startswith("VAR")
            else "has no name to call by"
        )
        raise FunctionError("kind", f"{where} {kind}: a call's arguments are a fixed set of names", name)
    if name not in hints:
        raise FunctionError("no_annotation", f"{where}: no type annotation, for example {name}: str", name)
    has_default = parameter.default is not parameter.empty
    default = parameter.default if has_default else None
    annotation, nullable = _without_none(hints[name])
    try:
        schema = _schema(annotation)
        if nullable and default is not None:
            schema = _nullable(schema)
    except TypeError as fault:
        raise FunctionError("type", f"{where}: {fault}", name) from None
    except RecursionError:
        raise FunctionError(
            "type", f"{where}: a type that contains itself is too much to fill in", name
        ) from None
    schema["description"] = schema.get("description") or documented
    if not schema["description"]:
        message = (
            f"{where}: no description: add it to the docstring's parameters, or use Annotated[type, 'text']"
        )
        raise FunctionError("no_description", message, name)
    validator = build_validator(schema, where)
    if default is not None:
        if not _is_json(default) or argument_issues(validator, default):
            raise FunctionError(
                "default", f"{where}: the default {default!r:.60} is not of its own type", name
            )
        schema["default"] = default
    elif has_default and not nullable and argument_issues(validator, None):
        raise FunctionError("default", f"{where}: the default None needs the type ... | None", name)
    return schema, has_default or nullable


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Return an annotation without ``None``, and whether it had it."""
    if get_origin(annotation) is Annotated:
        inner, nullable = _without_none(annotation.__origin__)
        return Annotated[(inner, *annotation.__metadata__)], nullable
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
    if type(None) not in members or len(members) == 1:
        return annotation, False
    return Union[tuple(member for member in members if member is not type(None))], True  # noqa: UP007


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    outer = {"description": schema.pop("description")} if "description" in schema else {}
    return {"anyOf": [schema, {"type": "null"}], **outer}


def _schema(annotation: Any) -> dict[str, Any]:
    """Return the schema of a type.

    Raises
    ------
    TypeError
        For a type that a JSON value cannot have.
    """
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(_schema(annotation.__origin__), annotation.__metadata__)
    if annotation in PLAIN:
        return {"type": PLAIN[annotation]}
    if annotation is Any:
        return {}
    if origin is Literal:
        kinds = {PLAIN.get(type(member), "") for member in members}
        if "" in kinds:
            raise TypeError("Literal values must be strings, numbers, booleans or None")
        return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": list(members)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(member) for member in members]}
    if annotation is list or origin in (list, Sequence):
        return {"type": "array", **({"items": _schema(members[0])} if members else {})}
    if annotation is dict or origin in (dict, Mapping):
        if members and members[0] is not str:
            raise TypeError("the keys of a JSON object are strings: use dict[str, ...]")
        return {"type": "object", **({"additionalProperties": _schema(members[1])} if members else {})}
    if typing.is_typeddict(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        properties = {name: _schema(_unwrapped(hint)) for name, hint in hints.items()}
        required = [name for name in hints if name in annotation.__required_keys__]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
    shown = getattr(annotation, "__name__", str(annotation))
    raise TypeError(
        f"{shown} is not a type of JSON; use str, int, float, bool, Literal, list, dict or a TypedDict"
    )


def _annotated(schema: dict[str, Any], notes: Sequence[Any]) -> dict[str, Any]:
    for note in notes:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, Mapping):
            schema.update(note)
    return schema


def _unwrapped(hint: Any) -> Any:
    """Return a field's type without Required or NotRequired."""
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint
