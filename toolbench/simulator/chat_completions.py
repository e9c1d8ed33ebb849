"""Chat Completions and its dialects: reading a request the way the provider does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator import checks
from toolbench.simulator.dialects import Flavour, dialect_shape, dialects
from toolbench.simulator.exchange import Choice, Conversation, Request, Result, Tool
from toolbench.simulator.facts import facts, refusal
from toolbench.simulator.failures import Failure, Family, families
from toolbench.simulator.strict_subset import strict_fault
from toolbench.simulator.structure import check_structure

Message = dict[str, Any]

WORDS = checks.Words(
    duplicate_tool="Invalid 'tools': function names must be unique, '{name}' occurs twice.",
    bad_schema="Invalid schema for function '{name}': {why}.",
    choice_without_tools="'tool_choice' is only allowed when 'tools' are specified.",
    unknown_choice="Tool choice '{name}' not found in 'tools' parameter.",
    schema_code="invalid_function_parameters",
)

UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)
UNCALLED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
    "'tool_calls'. The tool_call_id '{id}' was not found."
)
REASONING_GONE = (
    "The `reasoning_content` in the thinking mode must be passed back to the API "
    "(assistant message {index} has none)."
)

PAIRING: dict[str, dict[str, tuple[str, str | None]]] = {
    "openai": {"unanswered": (UNANSWERED, None), "uncalled": (UNCALLED, None)},
    "mistral": {
        "unanswered": ("Not the same number of function calls and responses", "3230"),
        "uncalled": ("Unexpected tool call id {id} in tool results", "3230"),
    },
}
"""Shape of errors -> words for a call without its result and the reverse; the rest speak like OpenAI."""

GATED = ("temperature", "top_p", "logprobs", "top_logprobs", "max_tokens", "stop")


def family_of(request: Request) -> Family:
    """Return the family of the model's dialect."""
    return families()[dialects()[request.model.dialect].errors]


def read(request: Request) -> Conversation:
    """Check a request and return what a decision depends on.

    Raises
    ------
    Failure
        As the provider would refuse it.
    """
    body, dialect, family = request.body, dialects()[request.model.dialect], family_of(request)
    check_structure(dialect_shape(request.model.dialect), body, family)
    messages: list[Message] = body["messages"]
    tools = [_tool(entry["function"]) for entry in body.get("tools", ())]
    choice = _choice(body.get("tool_choice"), dialect)
    checks.check_tools(tools, WORDS)
    checks.check_choice(choice, tools, "tool_choice" in body and dialect.strict == "openai", WORDS)
    if "parallel_tool_calls" in body and not tools and dialect.strict == "openai":
        raise Failure(
            400,
            "'parallel_tool_calls' is only allowed when 'tools' are specified.",
            param="parallel_tool_calls",
        )
    if dialect.strict == "openai":
        checks.check_arrays(tools, "function.parameters")
        if all(name in body for name in facts()["openai_two_limits"].values):
            raise refusal("openai_two_limits", "max_tokens")
    if dialect.strict_path and dialect.strict_path not in request.path:
        for tool in tools:
            if tool.strict:
                raise refusal("deepseek_strict_off_beta", "tools", name=tool.name)
    if dialect.strict and (fault := strict_fault(tools, dialect.strict)):
        raise checks.bad_schema(*fault, WORDS)
    thinking = _limits(request, choice, tools, family)
    _check_history(messages, dialect, family)
    if thinking and tools and dialect.reasoning_must_return:
        _check_reasoning(messages)
    return _conversation(body, messages, tools, choice, thinking, dialect)


def _tool(function: Message) -> Tool:
    return Tool(
        function["name"],
        function.get("description", ""),
        function.get("parameters", {"type": "object", "properties": {}}),
        bool(function.get("strict")),
    )


def _choice(asked: JSON, dialect: Flavour) -> Choice:
    if asked is None or "tool_choice" in dialect.ignores:
        return Choice()
    if isinstance(asked, str):
        return Choice("required" if asked == "any" else asked)
    if "named_choice" in dialect.ignores:
        return Choice()
    if asked["type"] == "allowed_tools":
        allowed = asked["allowed_tools"]
        return Choice(allowed["mode"], tuple(tool["function"]["name"] for tool in allowed["tools"]))
    return Choice("required", (asked["function"]["name"],), named=True)


def _limits(request: Request, choice: Choice, tools: Sequence[Tool], family: Family) -> bool:
    body, model = request.body, request.model
    effort = body.get("reasoning_effort")
    asked = None if effort is None else effort != "none"
    if isinstance(switch := body.get("thinking"), dict):
        asked = switch.get("type") != "disabled"
    thinking = checks.thinks(model, asked, "reasoning_effort", family)
    used = checks.settings_used(body, GATED)
    if choice.mode == "required":
        used.append(("forced_choice", "tool_choice", body["tool_choice"]))
    if tools:
        used += [("chat_tools", "reasoning_effort", effort), ("tools", "tools", True)]
    checks.check_limits(model, thinking, used, family)
    return thinking


def _check_history(messages: Sequence[Message], dialect: Flavour, family: Family) -> None:
    """Refuse calls without results, results without calls, and what a dialect cannot replay."""
    words = PAIRING.get(family.shape, PAIRING["openai"])
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            call = message["tool_call_id"]
            _check_id(call, dialect)
            if call not in waiting:
                raise _pairing(words["uncalled"], f"messages.[{index}].tool_call_id", id=call)
            waiting.remove(call)
            continue
        if waiting:
            break
        if dialect.errors == "mistral" and index and messages[index - 1]["role"] == "tool":
            _check_order(message["role"])
        calls = message.get("tool_calls", ()) if message["role"] == "assistant" else ()
        waiting = [call["id"] for call in calls]
        if len({*waiting}) < len(waiting):
            raise Failure(400, f"Duplicate tool call id in messages[{index}].", param="messages")
        for place, call in enumerate(calls):
            _check_id(call["id"], dialect)
            checks.check_id_length(
                call["id"], f"messages[{index}].tool_calls[{place}].id", dialect.call_id_limit
            )
            _check_arguments(call["function"]["arguments"], dialect)
        _check_content(message, index, dialect)
    if waiting:
        raise _pairing(words["unanswered"], "messages", ids=", ".join(waiting))


def _check_order(role: str) -> None:
    if role not in facts()["mistral_message_order"].values:
        raise refusal("mistral_message_order", role=role)


def _pairing(words: tuple[str, str | None], param: str, **facts: str) -> Failure:
    message, code = words
    return Failure(400, message.format(**facts), code=code, param=param)


def _check_id(call: str, dialect: Flavour) -> None:
    if dialect.call_id_pattern and not re.search(dialect.call_id_pattern, call):
        message = f"Tool call id was {call} but must be a-z, A-Z, 0-9, with a length of 9."
        raise Failure(400, message, code="3280")


def _check_arguments(text: JSON, dialect: Flavour) -> None:
    if dialect.history_arguments in ("any", "text_or_object"):
        return
    try:
        value = loads_strict(text)
    except StrictJSONError as error:
        if dialect.history_arguments == "json_or_500":
            # This server reports the client's broken history as a fault of its own.
            raise Failure(500, f"Failed to parse tool call arguments as JSON: {error}") from None
        value = None
    if dialect.history_arguments == "object" and not isinstance(value, dict):
        raise Failure(400, "invalid tool call arguments")


def _check_content(message: Message, index: int, dialect: Flavour) -> None:
    if message["role"] != "assistant" or message.get("content") is not None:
        return
    if (
        dialect.null_content == "beside_calls"
        and not message.get("tool_calls")
        and not message.get("refusal")
    ):
        if dialect.errors == "ollama_v1":
            raise Failure(400, "invalid message content type: <nil>")
        raise Failure(
            400,
            "Invalid value for 'content': expected a string, got null.",
            param=f"messages.[{index}].content",
        )


def _check_reasoning(messages: Sequence[Message]) -> None:
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and not isinstance(message.get("reasoning_content"), str):
            raise Failure(400, REASONING_GONE.format(index=index))


def _conversation(
    body: Message,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    choice: Choice,
    thinking: bool,
    dialect: Flavour,
) -> Conversation:
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls", ())
        if message["role"] == "assistant"
    }
    last_user = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=-1)
    last_other = max((i for i, message in enumerate(messages) if message["role"] != "tool"), default=-1)
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    parallel = "parallel_tool_calls" in dialect.ignores or body.get("parallel_tool_calls", True) is not False
    return Conversation(
        tools=tuple(tools),
        choice=choice,
        parallel=parallel,
        user=text_of(messages[last_user]["content"]) if last_user >= 0 else "",
        turn=len(replies) + 1,
        step=sum(index > last_user for index in replies) + 1,
        results=tuple(
            Result(names[message["tool_call_id"]], text_of(message["content"]))
            for message in messages[last_other + 1 :]
        ),
        thinking=thinking,
    )


def text_of(content: JSON) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
