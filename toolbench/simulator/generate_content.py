"""Gemini generateContent: reading a request the way the provider does."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.simulator import checks
from toolbench.simulator.exchange import Choice, Conversation, Model, Request, Result, Tool, seal
from toolbench.simulator.facts import facts, refusal
from toolbench.simulator.failures import Failure, families
from toolbench.simulator.structure import Shape, check_structure, load_schema, shape

Part = dict[str, Any]
Content = dict[str, Any]

WORDS = checks.Words(
    duplicate_tool="Duplicate function declaration found: {name}",
    bad_schema="functionDeclaration {name} schema is not valid: {why}",
    choice_without_tools="Function calling config is set without function_declarations.",
    unknown_choice="allowed_function_names contains {name}, which is not in function_declarations.",
)

MODES = {"ANY": "required", "NONE": "none"}
"""Mode -> what it means everywhere; the others are ``auto``."""

SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
OPAQUE = frozenset({"args", "response", "parametersJsonSchema", "responseJsonSchema", "enum", "default"})

COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call "
    "parts of the function call turn."
)
ORDER = (
    "Please ensure that function response turn comes immediately after a function call turn, and that its "
    "names and ids are those of the calls."
)
CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response "
    "turn."
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly. Function call `{name}`, position {position}."
)


def normalised(body: JSON) -> JSON:
    """Return a body with every field in camelCase.

    The provider reads ``function_call`` for ``functionCall`` as well, and its own client writes both. What
    belongs to the user (arguments, results, JSON Schemas, names of properties) is left alone.
    """
    if isinstance(body, list):
        return [normalised(item) for item in body]
    if not isinstance(body, dict):
        return body
    spelled = {}
    for key, value in body.items():
        name = SNAKE.sub(lambda match: match[1].upper(), key)
        if name == "properties" and isinstance(value, dict):
            spelled[name] = {own: normalised(child) for own, child in value.items()}
        else:
            spelled[name] = value if name in OPAQUE else normalised(value)
    return spelled


def read(request: Request) -> Conversation:
    """Check a request and return what a decision depends on.

    Raises
    ------
    Failure
        As the provider would refuse it.
    """
    body, family = request.body, families()["gemini"]
    if request.counting:
        check_structure(_count_shape(), body, family)
        body = counted(body)
    check_structure(shape("generate_content"), body, family)
    contents: list[Content] = body["contents"]
    _check_parts(body)
    declared = [entry for group in body.get("tools", ()) for entry in group.get("functionDeclarations", ())]
    for index, entry in enumerate(declared):
        if all(name in entry for name in facts()["gemini_two_parameter_fields"].values):
            raise refusal("gemini_two_parameter_fields", index=index)
    tools = [_tool(entry) for entry in declared]
    config = body.get("toolConfig", {}).get("functionCallingConfig")
    choice = _choice(config)
    _check_tools(tools)
    checks.check_choice(choice, tools, config is not None, WORDS)
    settings = body.get("generationConfig", {}).get("thinkingConfig", {})
    asked = False if settings.get("thinkingBudget") == 0 else None
    thinking = checks.thinks(request.model, asked, "thinkingConfig", family)
    used = [("forced_choice", "toolConfig", config)] if choice.mode == "required" else []
    checks.check_limits(request.model, thinking, used, family)
    _check_turns(contents)
    if request.model.needs_thought_signature:
        _check_signatures(contents, request.model)
    return _conversation(contents, tools, choice, thinking)


@cache
def _count_shape() -> Shape:
    whole = load_schema("generate_content")["properties"]
    known = {"contents": whole["contents"] | {"items": {}}, "generateContentRequest": {"type": "object"}}
    return Shape({"type": "object", "additionalProperties": False, "properties": known})


def counted(body: Content) -> Content:
    """Return the request whose tokens are wanted: bare contents, or one that is wrapped whole."""
    wrapped = body.get("generateContentRequest", body)
    return {name: value for name, value in wrapped.items() if name != "model"}


def _check_parts(body: Content) -> None:
    """Refuse parts without data; older clients send them for empty texts."""
    named = [(f"contents[{index}]", content) for index, content in enumerate(body["contents"])]
    if "systemInstruction" in body:
        named.append(("system_instruction", body["systemInstruction"]))
    for name, content in named:
        for place, part in enumerate(content["parts"]):
            if not any(key in part for key in facts()["gemini_empty_part"].values):
                raise refusal("gemini_empty_part", path=f"{name}.parts[{place}]")


def _tool(entry: Part) -> Tool:
    parameters = entry.get("parametersJsonSchema", entry.get("parameters", {}))
    return Tool(entry["name"], entry.get("description", ""), parameters)


def _choice(config: JSON) -> Choice:
    if config is None:
        return Choice()
    names = tuple(config.get("allowedFunctionNames", ()))
    mode = config.get("mode", "AUTO")
    if names and mode not in ("ANY", "VALIDATED"):
        raise Failure(400, "allowed_function_names is only supported with mode ANY or VALIDATED.")
    return Choice(MODES.get(mode, "auto"), names)


def _check_tools(tools: Sequence[Tool]) -> None:
    # Types may be written in capitals in `parameters`, which no JSON Schema validator takes.
    lowered = [Tool(tool.name, tool.description, _lowered(tool.parameters)) for tool in tools]
    checks.check_tools(lowered, WORDS)


def _lowered(schema: JSON) -> JSON:
    if isinstance(schema, list):
        return [_lowered(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    lowered = {key: _lowered(value) for key, value in schema.items()}
    return lowered | ({"type": kind.lower()} if isinstance(kind, str) else {})


def _check_turns(contents: Sequence[Content]) -> None:
    """Hold every call to its response in the very next content, in the order of the calls."""
    calls: list[Part] = []
    for index, content in enumerate(contents):
        role = content.get("role", "user")
        responses = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if len(responses) != len(calls):
            raise Failure(400, COUNT if calls else ORDER)
        for call, response in zip(calls, responses, strict=True):
            same_id = response.get("id") in (None, call.get("id"))
            if role != "user" or response["name"] != call["name"] or not same_id:
                raise Failure(400, ORDER)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if calls and (role != "model" or index == 0 or contents[index - 1].get("role", "user") != "user"):
            raise Failure(400, CALL_ORDER)
        ids = [call["id"] for call in calls if "id" in call]
        if len({*ids}) < len(ids):
            raise Failure(400, "Function call ids of one turn must be unique.")
    if calls:
        raise Failure(400, COUNT)


def _check_signatures(contents: Sequence[Content], model: Model) -> None:
    """Look for the signature of every step since the user last spoke; older turns are not looked at."""
    spoken = _last_user(contents)
    for index, content in enumerate(contents):
        steps = [part for part in content["parts"] if "functionCall" in part]
        if index <= spoken or not steps:
            continue
        name, found = steps[0]["functionCall"]["name"], steps[0].get("thoughtSignature")
        if not found:
            raise Failure(400, UNSIGNED.format(name=name, position=index))
        if not _stands_in(found) and found != signature(
            model, name, steps[0]["functionCall"].get("args", {})
        ):
            raise Failure(400, "Thought signature is not valid.")


def _stands_in(signature: str) -> bool:
    """Return whether a signature is a placeholder; clients whose field holds bytes send it as base64."""
    words = facts()["gemini_placeholder_signatures"].values
    return signature in (*words, *(base64.b64encode(word.encode()).decode() for word in words))


def signature(model: Model, name: str, arguments: JSON) -> str:
    """Return the signature of a step that begins with this call."""
    return seal(model, name, canonical_json(arguments))


def _last_user(contents: Sequence[Content]) -> int:
    """Return the index of the last content in which the user, not a tool, speaks; -1 without one."""
    spoken = [
        index
        for index, content in enumerate(contents)
        if content.get("role", "user") == "user"
        and not any("functionResponse" in part for part in content["parts"])
    ]
    return spoken[-1] if spoken else -1


def _conversation(
    contents: Sequence[Content], tools: Sequence[Tool], choice: Choice, thinking: bool
) -> Conversation:
    spoken = _last_user(contents)
    replies = [index for index, content in enumerate(contents) if content.get("role") == "model"]
    results = [part["functionResponse"] for part in contents[-1]["parts"] if "functionResponse" in part]
    user = contents[spoken]["parts"] if spoken >= 0 else []
    return Conversation(
        tools=tuple(tools),
        choice=choice,
        parallel=True,
        user="".join(part.get("text", "") for part in user),
        turn=len(replies) + 1,
        step=sum(index > spoken for index in replies) + 1,
        results=tuple(Result(result["name"], _output(result["response"])) for result in results),
        thinking=thinking,
    )


def _output(response: JSON) -> str:
    value = response.get("output", response.get("error", response))
    return value if isinstance(value, str) else canonical_json(value)
