"""Ollama's native chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import Messages, Offer, Request, wire_names
from toolbench.adapters.decide import ProposedCall, Reading, decide
from toolbench.adapters.drafts import Draft
from toolbench.adapters.ids import call_ids
from toolbench.adapters.shapes import count_of, object_at, objects_of, text_of, word_of
from toolbench.adapters.streams import EventAssembler, merge_delta
from toolbench.adapters.wire import Results, Said, WireAdapter, result_text
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, Usage


class OllamaChat(WireAdapter):
    """``POST /chat`` below ``/api``. The wire has no tool choice; arguments travel as objects."""

    protocol = "ollama_chat"

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the bearer header, which only the hosted service looks at."""
        return {"Authorization": f"Bearer {key}"}

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        return [*messages, {"role": "user", "content": text}]

    def assistant(self, said: Said) -> Messages:
        """Return one assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.calls:
            message["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in said.calls
            ]
        return [message]

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add the message as received."""
        return [*messages, {"role": "assistant", **object_at(response, "message")}]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one ``tool`` message per call, in call order.

        The tool's name comes from the message that made the call; an id goes along if the server gave one.
        """
        made = objects_of(messages[-1].get("tool_calls"))
        ids = call_ids([call.get("id") for call in made], _call_count(messages[:-1]))
        names = {
            id_: object_at(call, "function").get("name") for call, (id_, _) in zip(made, ids, strict=True)
        }
        answers: Messages = []
        for call, result in results:
            answer = {"role": "tool", "tool_name": names[call.id], "content": result_text(result)}
            answers.append(answer if call.id_synthesized else {**answer, "tool_call_id": call.id})
        return [*messages, *answers]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; what the wire has no field for is noted as not honoured."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        draft.body.update(model=model.model, messages=messages)
        tools = draft.tools(offer)
        if tools:
            draft.body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.schema,
                    },
                }
                for tool in tools
            ]
        draft.choose(offer, lambda choice: choice.mode)
        if tools:
            draft.put("parallel_tool_calls", model.settings.parallel_tool_calls)
        draft.put_sampling()
        # Without the field the server streams.
        draft.body["stream"] = model.settings.stream
        return draft.finish("/chat", model.settings.stream)

    def stream_assembler(self) -> OllamaAssembler:
        """Return an assembler of JSON lines."""
        return OllamaAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; a warm cache can leave the input count out."""
        return Usage(
            input=count_of(response.get("prompt_eval_count")), output=count_of(response.get("eval_count"))
        )

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return the decision in the message; ``done_reason`` is ``stop`` with calls as well."""
        message = object_at(response, "message")
        calls = []
        for call in objects_of(message.get("tool_calls")):
            function = object_at(call, "function")
            calls.append(ProposedCall(call.get("id"), function.get("name"), function.get("arguments")))
        done = word_of(response.get("done_reason"))
        reading = Reading(
            text=text_of(message.get("content")),
            calls=calls,
            finish=done,
            cut=done == "length",
            missing=not message,
            carries_objects=True,
            usage=self.usage(response),
            model=word_of(response.get("model")),
        )
        before = _call_count(objects_of(request.body.get("messages")))
        limit = object_at(request.body, "options").get("num_predict")
        return decide(reading, request, offer, before=before, limit=limit)


class OllamaAssembler(EventAssembler):
    """One JSON object a line to one reply: texts are joined, calls come whole."""

    sse = False

    def __init__(self) -> None:
        super().__init__()
        self._reply: dict[str, Any] = {}
        self._message: dict[str, Any] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one line's object."""
        self._reply.update(event)
        merge_delta(self._message, object_at(event, "message"), frozenset({"role"}))
        self.has_content = self.has_content or bool(
            self._message.get("content") or self._message.get("tool_calls")
        )
        self.ended = self.ended or event.get("done") is True

    def body(self) -> dict[str, Any]:
        """Return the whole reply."""
        return {**self._reply, "message": self._message}


def _call_count(messages: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(objects_of(message.get("tool_calls"))) for message in messages)
