"""Operations of an OpenAPI 3 document as tools. Nothing outside the document is ever read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.entries import FoundTool, entries
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.reading import read_values, read_yaml
from toolbench.authoring.importing.schemas import references
from toolbench.domain.canonical import JSON
from toolbench.domain.contract import Effect
from toolbench.errors import SuiteError

EFFECTS: Mapping[str, Effect] = {
    "get": "read", "head": "read", "options": "read", "trace": "read", "query": "read",
    "post": "write", "put": "write", "patch": "write", "delete": "write",
}  # fmt: skip
"""Method → effect: RFC 9110 calls the reading ones safe, the others may change something."""
OF_THE_MODEL = ("path", "query")
"""Where a parameter stands that a model fills in; headers and cookies are the application's."""
COMPONENT = "#/components/schemas/"


def import_openapi(source: str, tags: Sequence[str] = (), only: Sequence[str] = ()) -> Material:
    """Read an OpenAPI 3 document in JSON or YAML.

    Parameters
    ----------
    tags, only
        Keep operations with one of these tags, and with one of these ids; empty keeps all.

    Raises
    ------
    SuiteError
        When it is no such document, or no operation is left.
    """
    path = Path(source)
    document = _document(path)
    version = str(document.get("openapi", ""))
    if not version.startswith("3.") or not isinstance(document.get("paths"), dict):
        raise SuiteError(f"{path}: no OpenAPI 3 document: it needs openapi: 3.x and paths")
    found: list[FoundTool] = []
    remarks: list[str] = []
    for name, operation in _operations(document):
        if only and name not in only:
            continue
        if tags and not set(tags) & set(map(str, operation.get("tags") or ())):
            continue
        found.append(_tool(name, operation, document, remarks))
    if not found:
        raise SuiteError(f"{path}: no operation in it{' with these tags or ids' if tags or only else ''}")
    made = entries(found)
    if not made.tools:
        raise SuiteError(f"{path}: no operation could become a tool: {made.remarks[0]}")
    info = document.get("info")
    title = f"{info.get('title')} {info.get('version')}" if isinstance(info, dict) else path.name
    origin = f"operations of the OpenAPI document {title}"
    return Material(origin, made.tools, (), (*remarks, *made.remarks), made.outputs)


def _document(path: Path) -> dict[str, Any]:
    value = read_yaml(path) if path.suffix.lower() in (".yaml", ".yml") else read_values(path)[0][0]
    if not isinstance(value, dict):
        raise SuiteError(f"{path}: no OpenAPI 3 document")
    return value


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in (item if isinstance(item, dict) else {}).items():
            if method in EFFECTS and isinstance(operation, dict):
                both = (item.get("parameters"), operation.get("parameters"))
                merged = [one for some in both if isinstance(some, list) for one in some]
                named = operation.get("operationId") or f"{method}_{path}".replace("/", "_")
                yield str(named), {**operation, "parameters": merged, "method": method}


def _tool(
    name: str, operation: Mapping[str, Any], document: Mapping[str, Any], remarks: list[str]
) -> FoundTool:
    properties: dict[str, JSON] = {}
    required: list[str] = []
    for parameter in operation["parameters"]:
        parameter = _local(parameter, document)
        key, place = str(parameter.get("name")), parameter.get("in")
        if place not in OF_THE_MODEL:
            where = str(place or parameter.get("$ref"))[:60]
            remarks.append(f"{name}: parameter {key} ({where}): left out, no model fills it in")
            continue
        schema = parameter.get("schema")
        entry = dict(schema) if isinstance(schema, dict) else {"type": "string"}
        if isinstance(parameter.get("description"), str):
            entry["description"] = parameter["description"]
        properties[key] = entry
        if parameter.get("required") is True:
            required.append(key)
    body = _local(operation.get("requestBody"), document)
    if body:
        schema = _json_content(body)
        if schema is None:
            remarks.append(f"{name}: its body is no JSON: left out")
        else:
            properties["body"] = schema
            required += ["body"] if body.get("required") is True else []
    texts = (operation.get("summary"), operation.get("description"))
    return FoundTool(
        name=name,
        description="\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip()),
        parameters=_with_components(
            {
                "type": "object",
                "properties": properties,
                "required": list(dict.fromkeys(required)),
                "additionalProperties": False,
            },
            document,
        ),
        effect=EFFECTS[operation["method"]],
        output=_result(operation, document),
    )


def _result(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, JSON] | None:
    responses = operation.get("responses")
    for code, response in (responses if isinstance(responses, dict) else {}).items():
        if str(code).startswith("2"):
            schema = _json_content(_local(response, document))
            return _with_components(schema, document) if schema else None
    return None


def _json_content(holder: Mapping[str, Any]) -> dict[str, Any] | None:
    content = holder.get("content")
    for kind, media in (content if isinstance(content, dict) else {}).items():
        if "json" in str(kind) and isinstance(media, dict) and isinstance(media.get("schema"), dict):
            return dict(media["schema"])
    return None


def _local(value: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a reference inside the document; any other leads nowhere."""
    for _ in range(8):
        if not isinstance(value, dict) or not isinstance(value.get("$ref"), str):
            break
        target: Any = document if value["$ref"].startswith("#/") else None
        for part in value["$ref"].removeprefix("#/").split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            target = target.get(part) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            break
        value = target
    return value if isinstance(value, dict) else {}


def _with_components(schema: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, JSON]:
    """Return a schema that carries the components it refers to, and those that they refer to."""
    components = document.get("components")
    known = components.get("schemas") if isinstance(components, dict) else None
    known = known if isinstance(known, dict) else {}
    carried: dict[str, JSON] = {}
    waiting = [name for name in _named(schema) if name in known]
    while waiting:
        name = waiting.pop()
        if name not in carried:
            carried[name] = _moved(known[name])
            waiting += [other for other in _named(known[name]) if other in known]
    moved: dict[str, JSON] = _moved(schema)
    return {**moved, "$defs": carried} if carried else moved


def _named(schema: JSON) -> list[str]:
    return [
        reference.removeprefix(COMPONENT).replace("~1", "/").replace("~0", "~")
        for reference in references(schema)
        if reference.startswith(COMPONENT)
    ]


def _moved(node: JSON) -> JSON:
    if isinstance(node, dict):
        return {
            key: value.replace(COMPONENT, "#/$defs/", 1)
            if key == "$ref" and isinstance(value, str) and value.startswith(COMPONENT)
            else _moved(value)
            for key, value in node.items()
        }
    return [_moved(value) for value in node] if isinstance(node, list) else node
