"""Operations of an OpenAPI document as tools; nothing outside it is read."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.importing.support import files, import_, tools_of, write
from toolbench.authoring.lint import lint
from toolbench.domain.suite import load_suite

PETS = """
openapi: 3.0.3
info: {title: Pets, version: "1.2"}
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
    get:
      operationId: getPet
      tags: [pets]
      summary: One pet.
      parameters:
        - $ref: '#/components/parameters/Verbose'
        - {name: X-Trace, in: header, schema: {type: string}}
      responses:
        200: {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
    delete:
      operationId: deletePet
      tags: [admin]
      description: Remove a pet.
      responses: {default: {description: done}}
  /pets:
    post:
      tags: [pets, admin]
      requestBody: {$ref: '#/components/requestBodies/Pet'}
      responses: {}
    put:
      operationId: upload
      requestBody: {content: {text/plain: {schema: {type: string}}}}
      responses: {}
components:
  parameters:
    Verbose: {name: verbose, in: query, description: All of it, schema: {type: boolean, nullable: true}}
  requestBodies:
    Pet: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: {type: string, example: Rex}
        parent: {$ref: '#/components/schemas/Pet'}
        born: {type: string, format: date, example: 2020-01-31}
"""


def test_operations_become_tools_and_methods_give_effects(tmp_path: Path) -> None:
    result = import_("openapi", write(tmp_path / "pets.yaml", PETS), "--into", tmp_path)
    assert result.exit_code == 0, result.output
    made = tools_of(tmp_path, "pets")
    assert {name: tool["effect"] for name, tool in made.items()} == {
        "getPet": "read", "deletePet": "write", "post__pets": "write", "upload": "write",
    }  # fmt: skip
    assert made["getPet"]["description"] == "One pet."
    assert sorted(made["getPet"]["guessed"]) == ["actions", "ask_words"]
    assert "getPet: parameter X-Trace (header): left out" in result.stderr
    assert "upload: its body is no JSON: left out" in result.stderr
    contract = load_suite(tmp_path / "contracts/pets/tools.json", []).contract.by_name
    assert contract["getPet"].issues({"petId": 3, "verbose": None}) == []
    assert [one.code for one in contract["getPet"].issues({"petId": 0})] == ["out_of_range"]
    nested = {"body": {"name": "a", "parent": {"name": "b", "parent": {}}}}
    (issue,) = contract["post__pets"].issues(nested)
    assert (issue.code, issue.path) == ("missing_required", "$.body.parent.parent.name")
    script = json.loads((tmp_path / "contracts/pets/executor.json").read_text())
    answers = {rule["tool"]: rule["results"][0]["ok"] for rule in script["rules"]}
    assert answers["getPet"] == {"name": "Rex"}
    assert lint([tmp_path / "contracts"]) == []


def test_json_and_yaml_give_the_same_suite(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    write(tmp_path / "a/pets.yaml", PETS)
    write(tmp_path / "b/pets.json", json.loads(json.dumps(yaml.safe_load(PETS), default=str)))
    for name in ("a/pets.yaml", "b/pets.json"):
        assert import_("openapi", tmp_path / name, "--into", tmp_path / name[0]).exit_code == 0
    assert tools_of(tmp_path / "a", "pets") == tools_of(tmp_path / "b", "pets")


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (("--tag", "admin"), ["deletePet", "post__pets"]),
        (("--operation", "getPet"), ["getPet"]),
        (("--tag", "pets", "--only", "getPet"), ["getPet"]),
    ],
)
def test_operations_are_chosen_by_tag_or_id(
    options: tuple[str, ...], kept: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "pets.yaml", PETS)
    assert import_("openapi", path, "--into", tmp_path, *options).exit_code == 0
    assert list(tools_of(tmp_path, "pets")) == kept


def test_a_remote_reference_is_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("somebody opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    remote = PETS.replace("'#/components/schemas/Pet'", "'http://127.0.0.1:9/pet.json#/Pet'").replace(
        "'#/components/parameters/Verbose'", "'other.yaml#/Verbose'"
    )
    result = import_("openapi", write(tmp_path / "pets.yaml", remote), "--into", tmp_path)
    assert result.exit_code == 0, result.output
    assert "'http://127.0.0.1:9/pet.json#/Pet' leaves the document and is never fetched" in result.stderr
    assert "getPet: parameter None (other.yaml#/Verbose): left out" in result.stderr


BAD = {
    "swagger_2": ("a.json", {"swagger": "2.0", "paths": {}}, "no OpenAPI 3 document"),
    "no_paths": ("a.json", {"openapi": "3.1.0"}, "no OpenAPI 3 document"),
    "a_list": ("a.json", [], "no OpenAPI 3 document"),
    "no_operation": ("a.json", {"openapi": "3.1.0", "paths": {"/": {"summary": "x"}}}, "no operation in it"),
    "broken_yaml": ("a.yaml", "a: [", "not valid YAML"),
    "aliases": ("a.yaml", "a: &a [1]\nb: [*a, *a]", "aliases are not read"),
    "python_tags": ("a.yaml", "!!python/object/apply:os.system ['true']", "not valid YAML"),
    "deep_yaml": ("a.yaml", "[" * 3000, "not valid YAML"),
    "not_there": ("b.yaml", None, "no such file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_documents_are_one_line_and_leave_nothing(name: str, tmp_path: Path) -> None:
    file, content, said = BAD[name]
    path = tmp_path / file
    if content is not None:
        write(path, content)
    there = files(tmp_path)
    result = import_("openapi", path, "--into", tmp_path)
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
    assert files(tmp_path) == there
