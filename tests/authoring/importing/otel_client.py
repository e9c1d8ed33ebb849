"""A program as people have it: an OpenAI client in a tool loop, traced by a public instrumentation.

Called as ``python otel_client.py BASE_URL FILE``; the spans go to FILE as the SDK's own exporter writes them.
"""

import json
import sys
from typing import Any

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

MODEL = "careful"
QUESTIONS = ["Where is order ORD-123456?", "And where is ORD-654321?"]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Get the state of an order by its exact identifier.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{6}$"}},
                "required": ["order_id"],
                "additionalProperties": False,
            },
        },
    }
]


def talk(client: OpenAI, question: str) -> None:
    """Ask, carry out what the model wants, ask again until it answers in words."""
    messages: list[Any] = [
        {"role": "system", "content": "You help with orders."},
        {"role": "user", "content": question},
    ]
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            with trace.get_tracer("client").start_as_current_span(
                f"execute_tool {call.function.name}"
            ) as span:
                state = json.dumps({"order_id": "ORD-123456", "status": "shipped"})
                span.set_attributes(
                    {
                        "gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": call.function.name,
                        "gen_ai.tool.call.id": call.id,
                        "gen_ai.tool.call.arguments": call.function.arguments,
                        "gen_ai.tool.call.result": state,
                    }
                )
            messages.append({"role": "tool", "tool_call_id": call.id, "content": state})


def main(base_url: str, path: str) -> None:
    """Trace every question into one file."""
    provider = TracerProvider()
    with open(path, "w") as out:
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
        trace.set_tracer_provider(provider)
        OpenAIInstrumentor().instrument()
        client = OpenAI(api_key="simulated", base_url=base_url, max_retries=0)
        for question in QUESTIONS:
            with trace.get_tracer("client").start_as_current_span("invoke_agent orders"):
                talk(client, question)
        provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
