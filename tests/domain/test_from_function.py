"""Contracts built from functions: what is understood, and what is refused with a reason."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from toolbench.domain.calculator import calculate
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.from_function import FunctionError, read_docstring, tool_entry
from toolbench.errors import SuiteError


class Item(TypedDict):
    sku: Annotated[str, "code on the label"]
    pieces: NotRequired[int]


class Endless(TypedDict):
    inner: "Endless"


def numpy_style(order_id: str, reason: Literal["duplicate", "other"], note: str | None = None) -> bool:
    """Cancel an order
    that has not been sent.

    Cancelled orders cannot be restored.

    Parameters
    ----------
    order_id
        Number of the order,
        as on the invoice.
    reason : {"duplicate", "other"}
        Why it is cancelled.
    note
        Words for the file.

    Returns
    -------
    bool
        Whether it was cancelled.
    """
    return True


def google_style(order_id: str, reason: Literal["duplicate", "other"], note: str | None = None) -> bool:
    """Cancel an order that has not been sent.

    Cancelled orders cannot be restored.

    Args:
        order_id (str): Number of the order,
            as on the invoice.
        reason: Why it is cancelled.
        note: Words for the file.

    Returns:
        bool: Whether it was cancelled.
    """
    return True


@pytest.mark.parametrize("fn", [numpy_style, google_style])
def test_both_styles_of_docstring_give_the_same_contract(fn: Callable[..., Any]) -> None:
    entry = tool_entry(fn, effect="write")
    assert entry == {
        "name": fn.__name__,
        "description": "Cancel an order that has not been sent.\n\nCancelled orders cannot be restored.",
        "parameters": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "description": "Number of the order, as on the invoice."},
                "reason": {
                    "type": "string",
                    "enum": ["duplicate", "other"],
                    "description": "Why it is cancelled.",
                },
                "note": {"type": "string", "description": "Words for the file."},
            },
            "required": ["order_id", "reason"],
            "additionalProperties": False,
        },
        "effect": "write",
    }


def test_the_tool_validates_calls() -> None:
    tool = ToolSpec.from_function(numpy_style)
    assert tool.described("ru").startswith("Cancel an order")
    assert tool.issues({"order_id": "1", "reason": "other"}) == []
    codes = [issue.code for issue in tool.issues({"order_id": 1, "reason": "bored", "when": "now"})]
    assert codes == ["wrong_type", "not_in_enum", "unexpected_property"]
    assert Contract.from_json({"version": "1", "tools": [tool_entry(numpy_style)]}, "x").by_name


def test_a_shipped_function_becomes_a_tool() -> None:
    assert ToolSpec.from_function(calculate).issues({"expression": "2+2*2"}) == []


def schema_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    def tool(x):  # type: ignore[no-untyped-def]
        """Do something."""

    tool.__annotations__ = {"x": annotation}
    tool.__defaults__ = None if default is ... else (default,)
    tool.__doc__ = "Do something.\n\nArgs:\n    x: Thing."
    parameters = tool_entry(tool)["parameters"]
    schema = dict(parameters["properties"]["x"])
    if schema["description"] == "Thing.":
        del schema["description"]
    return {**schema, "required": True} if parameters["required"] else schema


@pytest.mark.parametrize(
    ("annotation", "default", "schema"),
    [
        (str, ..., {"type": "string", "required": True}),
        (int, 3, {"type": "integer", "default": 3}),
        (float, 1, {"type": "number", "default": 1}),
        (bool, False, {"type": "boolean", "default": False}),
        (int | None, None, {"type": "integer"}),
        (int | None, ..., {"type": "integer"}),
        (int | None, 5, {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5}),
        (str | int, ..., {"anyOf": [{"type": "string"}, {"type": "integer"}], "required": True}),
        (Literal[1, 2], ..., {"type": "integer", "enum": [1, 2], "required": True}),
        (Literal["a", 1], ..., {"enum": ["a", 1], "required": True}),
        (list[str], ..., {"type": "array", "items": {"type": "string"}, "required": True}),
        (list, ..., {"type": "array", "required": True}),
        (
            dict[str, int],
            ...,
            {"type": "object", "additionalProperties": {"type": "integer"}, "required": True},
        ),
        (Any, None, {}),
        (Annotated[str, "A word."], ..., {"type": "string", "description": "A word.", "required": True}),
        (Annotated[float, {"minimum": 0}], ..., {"type": "number", "minimum": 0, "required": True}),
        (Annotated[int | None, "A number."], None, {"type": "integer", "description": "A number."}),
    ],
)
def test_types(annotation: Any, default: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation, default) == schema


def test_typed_dicts_become_closed_objects() -> None:
    assert schema_of(list[Item])["items"] == {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "description": "code on the label"},
            "pieces": {"type": "integer"},
        },
        "required": ["sku"],
        "additionalProperties": False,
    }


def documented(text: str = "Do something.\n\nArgs:\n    x: Thing.") -> Callable[[Callable[..., Any]], Any]:
    def put(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.__doc__ = text
        return fn

    return put


@documented()
def no_annotation(x): ...  # type: ignore[no-untyped-def]


@documented("")
def no_docstring(x: int) -> None: ...


@documented("Args:\n    x: Thing.")
def only_parameters(x: int) -> None: ...


@documented("Do something.")
def no_description(x: int) -> None: ...


@documented("Do something.\n\nArgs:\n    x: Thing.\n    y: Gone.")
def unknown_parameter(x: int) -> None: ...


@documented()
def any_number(*x: int) -> None: ...


@documented()
def any_names(**x: int) -> None: ...


@documented()
def positional(x: int, /) -> None: ...


@documented()
def a_date(x: datetime) -> None: ...


@documented()
def whole_keys(x: dict[int, str]) -> None: ...


@documented()
def endless(x: Endless) -> None: ...


@documented()
def bytes_literal(x: Literal[b"a"]) -> None: ...


@documented()
def wrong_default(x: int = "5") -> None: ...  # type: ignore[assignment]


@documented()
def nan_default(x: float = float("nan")) -> None: ...


@documented()
def none_default(x: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013


@documented()
def unknown_name(x: "Gone") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@documented()
def функция(x: int) -> None: ...


@pytest.mark.parametrize(
    ("fn", "code", "said"),
    [
        (no_annotation, "no_annotation", "parameter x: no type annotation, for example x: str"),
        (no_docstring, "no_docstring", "no docstring"),
        (only_parameters, "no_docstring", "no docstring"),
        (no_description, "no_description", "parameter x: no description"),
        (unknown_parameter, "unknown_parameter", "describes 'y'"),
        (any_number, "kind", "any number of values"),
        (any_names, "kind", "any number of values"),
        (positional, "kind", "no name to call by"),
        (a_date, "type", "datetime is not a type of JSON"),
        (whole_keys, "type", "keys of a JSON object are strings"),
        (endless, "type", "contains itself"),
        (bytes_literal, "type", "Literal values must be"),
        (wrong_default, "default", "the default '5' is not of its own type"),
        (nan_default, "default", "default nan"),
        (none_default, "default", "needs the type ... | None"),
        (unknown_name, "type", "Gone"),
        (функция, "name", "does not satisfy pattern"),
        (lambda x: x, "not_a_function", "a function with a name"),
        (partial(calculate, "1"), "not_a_function", "a function with a name"),
        (5, "not_a_function", "5"),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_a_reason(fn: Any, code: str, said: str) -> None:
    with pytest.raises(FunctionError) as raised:
        ToolSpec.from_function(fn)
    assert isinstance(raised.value, SuiteError)
    assert raised.value.code == code
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_bad_keyword_in_annotated_is_refused() -> None:
    with pytest.raises(SuiteError, match="not a regular expression"):
        schema_of(Annotated[str, {"pattern": "("}])


def test_methods_leave_self_out() -> None:
    class Shop:
        @documented()
        def sell(self, x: int) -> None: ...

    assert ToolSpec.from_function(Shop().sell).required == ["x"]


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Two\nlines.\n\nAnd more.", "Two lines.\n\nAnd more.", {}),
        ("D.\n\nArgs:\n    a: One: two.\n    *b: Three.", "D.", {"a": "One: two.", "b": "Three."}),
        (
            "D.\n\nParameters\n----------\na, b\n    Both.\nc : int, optional\n    C.",
            "D.",
            {"a": "Both.", "b": "Both.", "c": "C."},
        ),
        ("D.\n\nReturns:\n    a: no parameter.", "D.", {}),
        ("D.\n\nParameters\n----------\na\n    A.\n\nRaises\n------\nb\n    No.", "D.", {"a": "A."}),
    ],
)
def test_docstrings_are_read(text: str, description: str, parameters: dict[str, str]) -> None:
    assert read_docstring(text) == (description, parameters)
