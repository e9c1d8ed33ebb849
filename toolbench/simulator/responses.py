"""OpenAI Responses: reading a request the way the provider does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator import checks
from toolbench.simulator.exchange import (
    Choice,
    Conversation,
    Model,
    Request,
    Result,
    Tool,
    seal,
)
from toolbench.simulator.failures import Failure, families
from toolbench.simulator.strict_subset import strict_fault
from toolbench.simulator.structure import Shape, check_structure, load_schema

Item = dict[str, Any]

WORDS = checks.Words(
    duplicate_tool="Invalid 'tools': function names must be unique, '{name}' occurs twice.",
    bad_schema="Invalid schema for function '{name}': {why}.",
    choice_without_tools="Tool choice is only allowed when 'tools' are specified.",
    unknown_choice="Tool choice 'function' not found in 'tools' parameter: '{name}'.",
    schema_code="invalid_function_parameters",
)

ALONE = "Item '{id}' of type 'reasoning' was provided without its required following item."
REASONING_GONE = (
    "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item: '{needed}'."
)
NOT_STORED = (
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with "
    "`store` set to true, or remove this item from your input."
)

ID_PREFIX = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
"""Type of an item -> how its id must begin."""

CALL_ID_LIMIT = 64
"""Characters; see the fact ``openai_long_id``."""

OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Type of a call -> type of the item that answers it."""

COUNTED = (
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text",
    "truncation", "previous_response_id", "conversation",
)  # fmt: skip
"""What a request to count tokens may hold."""


def read(request: Request) -> Conversation:
    """Check a request and return what a decision depends on.

    Raises
    ------
    Failure
        As the provider would refuse it.
    """
    body, family, model = request.body, families()["openai"], request.model
    check_structure(_shape(request.counting), body, family)
    if body.get("previous_response_id"):
        # This server keeps nothing: to it, every stored response has expired.
        message = f"Previous response with id '{body['previous_response_id']}' not found."
        raise Failure(400, message, code="previous_response_not_found", param="previous_response_id")
    tools = [_tool(entry) for entry in body.get("tools", ())]
    choice = _choice(body.get("tool_choice"))
    checks.check_tools(tools, WORDS)
    checks.check_arrays(tools, "parameters")
    checks.check_choice(choice, tools, "tool_choice" in body and choice.mode == "required", WORDS)
    if fault := strict_fault(tools, "openai"):
        raise checks.bad_schema(*fault, WORDS)
    effort = (body.get("reasoning") or {}).get("effort")
    thinking = checks.thinks(model, None if effort is None else effort != "none", "reasoning.effort", family)
    used = checks.settings_used(body, ("temperature", "top_p", "top_logprobs"))
    if choice.mode == "required":
        used.append(("forced_choice", "tool_choice", body["tool_choice"]))
    checks.check_limits(model, thinking, used, family)
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    _check_ids(items)
    _check_pairs(items)
    _check_reasoning(items, model, body.get("store") is False)
    return _conversation(body, items, tools, choice, thinking)


@cache
def _shape(counting: bool) -> Shape:
    return Shape(load_schema("responses", COUNTED if counting else None))


def custom_names(body: Item) -> set[str]:
    """Return the tools on offer that take free text."""
    return {entry["name"] for entry in body.get("tools", ()) if entry["type"] == "custom"}


def _tool(entry: Item) -> Tool:
    if entry["type"] == "custom":
        return Tool(entry["name"], entry.get("description") or "", {}, custom=True)
    parameters = entry.get("parameters") or {"type": "object", "properties": {}}
    return Tool(entry["name"], entry.get("description") or "", parameters, bool(entry.get("strict")))


def _choice(asked: JSON) -> Choice:
    if not isinstance(asked, dict):
        return Choice(asked or "auto")
    if asked["type"] == "allowed_tools":
        return Choice(asked["mode"], tuple(tool["name"] for tool in asked["tools"]))
    return Choice("required", (asked["name"],), named=True)


def _check_ids(items: Sequence[Item]) -> None:
    for index, item in enumerate(items):
        prefix = ID_PREFIX.get(item.get("type", ""))
        identity = item.get("id")
        if prefix and identity is not None and not identity.startswith(prefix):
            message = (
                f"Invalid 'input[{index}].id': '{identity}'. Expected an ID that begins with '{prefix}'."
            )
            raise Failure(400, message, code="invalid_value", param=f"input[{index}].id")


def _check_pairs(items: Sequence[Item]) -> None:
    called: dict[str, str] = {}
    answered: list[str] = []
    for index, item in enumerate(items):
        kind, call = item.get("type"), item.get("call_id")
        if kind in OUTPUTS:
            if call in called:
                raise Failure(400, f"Duplicate function call with call_id {call}.", param=f"input[{index}]")
            checks.check_id_length(str(call), f"input[{index}].call_id", CALL_ID_LIMIT)
            called[str(call)] = OUTPUTS[kind]
        elif kind in OUTPUTS.values():
            if called.get(str(call)) != kind:
                told = str(kind).replace("_", " ")
                message = f"No tool call found for {told} with call_id {call}."
                raise Failure(400, message, param="input")
            if call in answered:
                raise Failure(400, f"Duplicate function call output with call_id {call}.", param="input")
            answered.append(str(call))
    for call in called:
        if call not in answered:
            raise Failure(400, f"No tool output found for function call {call}.", param="input")


def _check_reasoning(items: Sequence[Item], model: Model, stateless: bool) -> None:
    """Hold calls and reasoning together: the ids of one reply share their stem."""
    seen = set()
    for index, item in enumerate(items):
        identity = item.get("id") or ""
        if item.get("type") == "reasoning":
            seen.add(identity)
            _check_encrypted(item, model, stateless)
            following = items[index + 1] if index + 1 < len(items) else {"type": "reasoning"}
            if not _is_output(following) or following.get("type") == "reasoning":
                raise Failure(400, ALONE.format(id=identity), param="input")
        needed = _reasoning_id(identity)
        if item.get("type") in OUTPUTS and needed is not None and needed not in seen:
            raise Failure(400, REASONING_GONE.format(id=identity, needed=needed), param="input")


def _check_encrypted(item: Item, model: Model, stateless: bool) -> None:
    encrypted, identity = item.get("encrypted_content"), item["id"]
    if not encrypted and stateless:
        raise Failure(400, NOT_STORED.format(id=identity), param="input")
    if encrypted and encrypted != seal(model, identity):
        message = f"The encrypted content for item {identity} could not be verified."
        raise Failure(400, message, code="invalid_encrypted_content", param="input")


def _reasoning_id(identity: str) -> str | None:
    """Return the id of the reasoning that a call came with; only calls of a thinking model have one."""
    stem, separator, _ = identity.partition("_after_rs_")
    return f"rs_{stem.partition('_')[2]}" if separator else None


def _conversation(
    body: Item, items: Sequence[Item], tools: Sequence[Tool], choice: Choice, thinking: bool
) -> Conversation:
    names = {item["call_id"]: item["name"] for item in items if item.get("type") in OUTPUTS}
    users = [i for i, item in enumerate(items) if item.get("role") == "user"]
    last_user = users[-1] if users else -1
    # All output items between two results or user messages are one reply.
    starts = [
        index
        for index, item in enumerate(items)
        if _is_output(item) and (index == 0 or not _is_output(items[index - 1]))
    ]
    results = []
    for item in reversed(items):
        if item.get("type") not in OUTPUTS.values():
            break
        results.append(Result(names[item["call_id"]], _text(item["output"])))
    return Conversation(
        tools=tuple(tools),
        choice=choice,
        parallel=body.get("parallel_tool_calls") is not False,
        user=_text(items[last_user]["content"]) if users else "",
        turn=len(starts) + 1,
        step=sum(start > last_user for start in starts) + 1,
        results=tuple(reversed(results)),
        thinking=thinking,
    )


def _is_output(item: Item) -> bool:
    return item.get("type") in ("reasoning", *OUTPUTS) or item.get("role") == "assistant"


def _text(content: JSON) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content)
