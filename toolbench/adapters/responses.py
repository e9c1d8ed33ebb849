"""OpenAI Responses, stateless: nothing is stored, every output item goes back as it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import Messages, Offer, Request, wire_names
from toolbench.adapters.decide import ProposedCall, Reading, decide
from toolbench.adapters.drafts import Choice, Draft
from toolbench.adapters.ids import call_ids
from toolbench.adapters.shapes import count_of, object_at, objects_of, text_of, word_of
from toolbench.adapters.streams import EventAssembler
from toolbench.adapters.wire import Results, Said, WireAdapter, result_text
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, Usage

_CALLS = ("function_call", "custom_tool_call")
_END = ("response.completed", "response.incomplete", "response.failed")


class Responses(WireAdapter):
    """``POST /responses``. The history is the list of input items behind the system prompt."""

    protocol = "responses"

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the bearer header."""
        return {"Authorization": f"Bearer {key}"}

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        return [*messages, {"role": "user", "content": text}]

    def assistant(self, said: Said) -> Messages:
        """Return a message item if there is text, and one item per call.

        The calls have no item id: only the server can give one.
        """
        items: Messages = [{"role": "assistant", "content": said.text}] if said.text else []
        for call in said.calls:
            item = {"type": "function_call", "call_id": call.id, "name": call.name}
            items.append({**item, "arguments": call.raw_arguments})
        return items

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add every output item as received: reasoning, messages and calls belong together."""
        items = objects_of(response.get("output"))
        calls = [index for index, item in enumerate(items) if item.get("type") in _CALLS]
        ids = call_ids([items[index].get("call_id") for index in calls], _call_count(messages))
        for index, (id_, _) in zip(calls, ids, strict=True):
            items[index] = {**items[index], "call_id": id_}
        return [*messages, *items]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one output item per call, in call order."""
        return [
            *messages,
            *(
                {"type": "function_call_output", "call_id": call.id, "output": result_text(result)}
                for call, result in results
            ),
        ]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        system, *items = messages
        draft.body.update(model=model.model, instructions=system["content"], input=items)
        tools = draft.tools(offer)
        if tools:
            draft.body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": bool(tool.strict),
                }
                for tool in tools
            ]
        draft.choose(offer, _choice)
        if tools:
            draft.put("parallel_tool_calls", model.settings.parallel_tool_calls)
        draft.put_sampling()
        if model.settings.stream:
            draft.body["stream"] = True
        return draft.finish("/responses", model.settings.stream)

    def stream_assembler(self) -> ResponsesAssembler:
        """Return an assembler of named events."""
        return ResponsesAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; input includes cached and output reasoning tokens already."""
        usage = object_at(response, "usage")
        return Usage(
            input=count_of(usage.get("input_tokens")),
            output=count_of(usage.get("output_tokens")),
            cached_input=count_of(object_at(usage, "input_tokens_details").get("cached_tokens")),
            reasoning=count_of(object_at(usage, "output_tokens_details").get("reasoning_tokens")),
        )

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return the decision in all output items together."""
        items = objects_of(response.get("output"))
        texts, refusals = _said(items)
        why = word_of(object_at(response, "incomplete_details").get("reason"))
        refusal = "incomplete: content_filter" if why == "content_filter" else None
        if refusals:
            refusal = refusal or "refusal part"
        calls = [item for item in items if item.get("type") in _CALLS]
        reading = Reading(
            text="\n".join(texts),
            calls=[
                ProposedCall(call.get("call_id"), call.get("name"), call.get("arguments", call.get("input")))
                for call in calls
            ],
            finish=why or word_of(response.get("status")),
            cut=response.get("status") == "incomplete"
            or any(call.get("status") == "incomplete" for call in calls),
            refusal=refusal,
            refusal_text="\n".join(refusals),
            missing=not isinstance(response.get("output"), list),
            usage=self.usage(response),
            model=word_of(response.get("model")),
        )
        before = _call_count(objects_of(request.body.get("input")))
        limit = request.body.get("max_output_tokens")
        return decide(reading, request, offer, before=before, limit=limit)


class ResponsesAssembler(EventAssembler):
    """Named events to a response object: the last event carries it, or else the items that came before."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""
        kind = text_of(event.get("type"))
        if kind.endswith((".delta", ".done")) and "reasoning" not in kind and event.get("delta"):
            self.has_content = True
        if kind == "response.output_item.done":
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = object_at(event, "item")
            self.has_content = self.has_content or object_at(event, "item").get("type") in _CALLS
        elif kind in _END:
            self._response = object_at(event, "response")
            self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the response object."""
        if not self._response.get("output") and self._items:
            self._response["output"] = [item for _, item in sorted(self._items.items())]
        return self._response


def _choice(choice: Choice) -> JSON:
    return {"type": "function", "name": choice.name} if choice.mode == "named" else choice.mode


def _call_count(items: Sequence[Mapping[str, Any]]) -> int:
    return sum(item.get("type") in _CALLS for item in items)


def _said(items: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the visible text and the refusal of every message item that has one."""
    texts, refusals = [], []
    for item in items:
        if item.get("type") != "message":
            continue
        parts = objects_of(item.get("content"))
        text = "".join(text_of(part.get("text")) for part in parts if part.get("type") == "output_text")
        refusal = "".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal")
        texts += [text] if text else []
        refusals += [refusal] if refusal else []
    return texts, refusals
