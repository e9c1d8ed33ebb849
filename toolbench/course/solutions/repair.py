import json


def repaired_loop(ask, tools, messages):
    iterations = 0
    while iterations < 5:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            try:
                arguments = json.loads(call["function"]["arguments"])
                result = json.dumps(tools[call["function"]["name"]](**arguments))
            except Exception as error:
                result = f"ERROR: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        iterations += 1
    return None
