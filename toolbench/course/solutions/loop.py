import json


def run_loop(ask, tools, messages):
    for _ in range(5):
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            function = call["function"]
            try:
                arguments = json.loads(function["arguments"])
                content = json.dumps(tools[function["name"]](**arguments), ensure_ascii=False)
            except KeyError:
                content = f"ERROR: there is no tool {function['name']}; there are: {', '.join(tools)}"
            except Exception as error:
                content = f"ERROR: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise RuntimeError("five iterations and no answer")
