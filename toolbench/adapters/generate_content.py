"""Gemini generateContent."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.decide import ProposedCall, Reading
from toolbench.adapters.drafts import Choice, Draft
from toolbench.adapters.ids import call_ids
from toolbench.adapters.profiles import Dialect
from toolbench.adapters.shapes import count_of, items_of, object_at, objects_of, text_of, total, word_of
from toolbench.adapters.streams import EventAssembler
from toolbench.adapters.wire import Messages, Offer, Request, Results, Said, wire_names
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY", "allowed": "VALIDATED"}


class GenerateContent(ProviderAdapter):
    """``POST /models/{model}:generateContent``. The history is the system prompt and a list of contents."""

    protocol = "generate_content"
    reply_id = "responseId"
    legal_name = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the key header."""
        return {"x-goog-api-key": key}

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user content."""
        return [*messages, {"role": "user", "parts": [{"text": text}]}]

    def assistant(self, said: Said) -> Messages:
        """Return one model content."""
        parts: list[JSON] = [{"text": said.text}] if said.text else []
        for call in said.calls:
            parts.append({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})
        return [{"role": "model", "parts": parts}]

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add the model's content as received, thought signatures included; only an id used before is new."""
        content = {"role": "model", **object_at(response, "candidates", 0, "content")}
        ids = iter(call_ids([call.get("id") for call in _function_calls(content)], _ids(messages)))
        parts = []
        for part in objects_of(content.get("parts")):
            if isinstance(part.get("functionCall"), dict):
                id_, _ = next(ids)
                if part["functionCall"].get("id"):
                    part = {**part, "functionCall": {**part["functionCall"], "id": id_}}
            parts.append(part)
        return [*messages, {**content, "parts": parts}]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one user content with a response part per call, in call order.

        The function's name comes from the content that made the call; an id goes along if there was one.
        """
        made = _function_calls(messages[-1])
        ids = call_ids([call.get("id") for call in made], _ids(messages[:-1]))
        names = {id_: call.get("name") for call, (id_, _) in zip(made, ids, strict=True)}
        parts = []
        for call, result in results:
            answer = {
                "name": names[call.id],
                "response": {"error" if result.is_error else "output": result.content},
            }
            given = any(call.id == made_call.get("id") for made_call in made)
            parts.append({"functionResponse": {"id": call.id, **answer} if given else answer})
        return [*messages, {"role": "user", "parts": parts}]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        system, *contents = messages
        if system["content"]:
            draft.body["systemInstruction"] = {"parts": [{"text": system["content"]}]}
        draft.body["contents"] = [_in_dialect(content, draft.dialect, model) for content in contents]
        tools = draft.tools(offer)
        if tools:
            declarations = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.schema,
                }
                for tool in tools
            ]
            draft.body["tools"] = [{"functionDeclarations": declarations}]
        draft.choose(offer, _choice)
        draft.put_parallel(offer)
        draft.put_sampling()
        name = model.model if "/" in model.model else f"models/{model.model}"
        verb = "streamGenerateContent?alt=sse" if model.settings.stream else "generateContent"
        return draft.finish(f"/{name}:{verb}", model.settings.stream)

    def stream_assembler(self) -> GeminiAssembler:
        """Return an assembler of partial replies."""
        return GeminiAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply: thoughts are counted beside the output and belong to it."""
        usage = object_at(response, "usageMetadata")
        thoughts = count_of(usage.get("thoughtsTokenCount"))
        prompt, tool_use = usage.get("promptTokenCount"), usage.get("toolUsePromptTokenCount")
        return Usage(
            input=total(count_of(prompt), count_of(tool_use)),
            output=total(count_of(usage.get("candidatesTokenCount")), thoughts),
            cached_input=count_of(usage.get("cachedContentTokenCount")),
            reasoning=thoughts,
        )

    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether there is a candidate, or the prompt was refused."""
        return bool(objects_of(body.get("candidates")) or _blocked(body))

    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take the first candidate apart, or the prompt's own refusal."""
        candidate = object_at(response, "candidates", 0)
        content = object_at(candidate, "content")
        finish, blocked = word_of(candidate.get("finishReason")), _blocked(response)
        return Reading(
            # What a call that could not be read was meant to be stands there.
            text="\n".join(_texts(content)) or text_of(candidate.get("finishMessage")),
            calls=[
                ProposedCall(call.get("id"), call.get("name"), call.get("args", {}))
                for call in _function_calls(content)
            ],
            finish=finish or blocked or None,
            finish_label="finishReason",
            refusal=f"promptFeedback {blocked}" if blocked else None,
            missing=not candidate and not blocked,
            carries_objects=True,
            usage=self.usage(response),
            model=word_of(response.get("modelVersion")),
            warnings=["several_choices"] if len(items_of(response.get("candidates"))) > 1 else [],
        )

    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the ids of the function calls in the contents."""
        return _ids(objects_of(body.get("contents")))

    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return ``maxOutputTokens``."""
        return object_at(body, "generationConfig").get("maxOutputTokens")


class GeminiAssembler(EventAssembler):
    """Partial replies to one: parts follow each other, text that touches is joined."""

    carries = frozenset({"candidates", "promptFeedback", "usageMetadata"})

    def __init__(self) -> None:
        super().__init__()
        self._reply: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._content: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one partial reply."""
        candidate = object_at(event, "candidates", 0)
        content = object_at(candidate, "content")
        self._reply.update(event)
        self._candidate.update({key: value for key, value in candidate.items() if value is not None})
        self._content.update(content)
        for part in objects_of(content.get("parts")):
            self._add(part)
        self.ended = self.ended or bool(candidate.get("finishReason") or _blocked(event))

    def body(self) -> dict[str, Any]:
        """Return the whole reply."""
        if not self._candidate:
            return self._reply
        content = {**self._content, "parts": self._parts}
        return {**self._reply, "candidates": [{**self._candidate, "content": content}]}

    def _add(self, part: dict[str, Any]) -> None:
        last = self._parts[-1] if self._parts else {}
        # A part with a signature has to go back as it came, so it is never joined.
        joins = set(part) <= {"text", "thought"} and set(last) <= {"text", "thought"} and bool(last)
        if joins and bool(part.get("thought")) == bool(last.get("thought")):
            last["text"] = text_of(last.get("text")) + text_of(part.get("text"))
        else:
            self._parts.append(dict(part))
        visible = part.get("text") and not part.get("thought")
        self.has_content = self.has_content or bool(visible or part.get("functionCall"))


def _blocked(body: Mapping[str, Any]) -> str:
    return text_of(object_at(body, "promptFeedback").get("blockReason"))


def _choice(choice: Choice) -> JSON:
    mode = {"mode": _MODES[choice.mode]}
    return {**mode, "allowedFunctionNames": list(choice.names)} if choice.names else mode


def _in_dialect(content: dict[str, Any], dialect: Dialect, model: ModelConfig) -> dict[str, Any]:
    """Return a content as the model wants it replayed: its first call has a signature, if only a stand-in."""
    signature = dialect.stand_in_signature(model)
    parts = objects_of(content.get("parts"))
    calls = [index for index, part in enumerate(parts) if "functionCall" in part]
    if signature is None or not calls or "thoughtSignature" in parts[calls[0]]:
        return content
    parts[calls[0]] = {**parts[calls[0]], "thoughtSignature": signature}
    return {**content, "parts": parts}


def _function_calls(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = objects_of(content.get("parts"))
    return [object_at(part, "functionCall") for part in parts if isinstance(part.get("functionCall"), dict)]


def _ids(contents: Sequence[Mapping[str, Any]]) -> list[JSON]:
    return [call.get("id") for content in contents for call in _function_calls(content)]


def _texts(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the visible texts without thoughts; parts that touch are one text."""
    parts = objects_of(content.get("parts"))
    kinds = itertools.groupby(parts, key=lambda part: "text" in part and not part.get("thought"))
    for visible, group in kinds:
        if visible:
            yield "".join(text_of(part.get("text")) for part in group)
