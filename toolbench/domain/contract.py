"""Tools and contracts: what a model may call, and the policy metadata it never sees."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.extensions import OWN, extensions_of
from toolbench.domain.files import read_json, validate
from toolbench.domain.from_function import tool_entry
from toolbench.domain.validation import ArgumentIssue, argument_issues, build_validator
from toolbench.errors import SuiteError

Effect = Literal["read", "write"]


@dataclass(frozen=True)
class ToolSpec:
    """One tool: what is sent to a model (name, description, parameters) and its policy metadata.

    ``description`` holds one text per language; the key ``""`` serves every language. ``wordings`` holds the
    descriptions of parameters that differ by language, parameter → language → text; in ``parameters`` stands
    one of them. Policy fields (everything after ``wordings``) are for executor, checks and baselines and are
    never sent. ``guessed`` says which fields nobody has confirmed since the tool was imported, and what each
    guess rests on.
    """

    name: str
    description: Mapping[str, str]
    parameters: Mapping[str, JSON]
    wordings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    effect: Effect = "read"
    confirmation: bool = False
    keywords: Mapping[str, Sequence[str]] = field(default_factory=dict)
    synonyms: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    normalizers: Mapping[str, str] = field(default_factory=dict)
    ask_words: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown_by: Sequence[str] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    ownership: Sequence[str] = ()
    writes: Mapping[str, JSON] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        # What can be worked out of a tool alone is worked out once: tools are keys of caches.
        return hash(self.name)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolSpec:
        """Build from one entry of ``tools.json`` (already valid against the contract schema)."""
        description = data["description"]
        texts = description if isinstance(description, dict) else {"": description}
        wordings = _wordings(data["parameters"].get("properties"))
        any_language = {name: told.get("en") or next(iter(told.values())) for name, told in wordings.items()}
        parameters = _described(data["parameters"], any_language)
        return cls(**{**data, "description": texts, "parameters": parameters, "wordings": wordings})

    @classmethod
    def from_function(cls, fn: Callable[..., Any], effect: Effect = "read") -> ToolSpec:
        """Build from a typed and documented Python function; :func:`tool_entry` says what is understood."""
        return cls.from_json(tool_entry(fn, effect))

    def described(self, lang: str) -> str:
        """Return the description for a language, falling back to the language-neutral one.

        Raises
        ------
        SuiteError
            When the tool has no description for that language.
        """
        text = self.description.get(lang, self.description.get(""))
        if text is None:
            raise SuiteError(f"tool {self.name}: no description for language {lang!r}")
        return text

    def parameters_in(self, lang: str) -> Mapping[str, JSON]:
        """Return the schema of the parameters as it is sent to a model in a language."""
        texts = {name: told[lang] for name, told in self.wordings.items() if lang in told}
        return _described(self.parameters, texts)

    @cached_property
    def validator(self) -> Any:
        """The validator of the parameter schema."""
        return build_validator(dict(self.parameters), f"tool {self.name}: parameters")

    def issues(self, arguments: JSON) -> list[ArgumentIssue]:
        """Return every fault of ``arguments`` against this tool's schema (empty when valid)."""
        return list(_issues(self, json.dumps(arguments)))

    @property
    def leaves(self) -> str | None:
        """Which kind of object a call leaves in the world; ``None`` for a tool that only reads."""
        return str(self.writes.get("object", self.name)) if self.effect == "write" else None

    @property
    def properties(self) -> Mapping[str, JSON]:
        """The schema's top-level properties."""
        found: Mapping[str, JSON] = self.parameters.get("properties", {})
        return found

    @property
    def required(self) -> Sequence[str]:
        """Names of the required arguments."""
        found: Sequence[str] = self.parameters.get("required", ())
        return found


@lru_cache(maxsize=16_384)
def _issues(tool: ToolSpec, arguments: str) -> tuple[ArgumentIssue, ...]:
    """Return the faults of an argument object; kept: one call is asked about four times, and comes again."""
    return tuple(argument_issues(tool.validator, json.loads(arguments)))


@dataclass(frozen=True)
class Contract:
    """A versioned set of tools in canonical order. ``hash`` covers everything in ``tools.json``.

    ``distractors`` are tools of other contracts, which conditions may show beside the own ones.
    """

    version: str
    tools: tuple[ToolSpec, ...]
    source: Mapping[str, JSON]
    distractors: tuple[ToolSpec, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> Contract:
        """Build and check a contract: schema, unique names, every parameter schema usable.

        Raises
        ------
        SuiteError
            Naming ``where`` and the tool that is wrong.
        """
        validate(data, "contract", where)
        tools = tuple(ToolSpec.from_json(entry) for entry in data["tools"])
        for name, times in Counter(tool.name for tool in tools).items():
            if times > 1:
                raise SuiteError(f"{where}: tool {name} is defined twice")
        known = {*OWN["normalizers"], *extensions_of("normalizers")}
        for tool in tools:
            for argument, name in tool.normalizers.items():
                if name not in known:
                    there = ", ".join(sorted(known))
                    raise SuiteError(
                        f"{where}: tool {tool.name}: normalizers.{argument}: no {name!r}; there are {there}"
                    )
            build_validator(dict(tool.parameters), f"{where}: tool {tool.name}: parameters")
        return cls(version=data["version"], tools=tools, source=data)

    @classmethod
    def load(cls, path: Path) -> Contract:
        """Load ``tools.json``."""
        return cls.from_json(read_json(path), str(path))

    @cached_property
    def by_name(self) -> Mapping[str, ToolSpec]:
        """Tools by canonical name, those of other contracts behind the own."""
        return {tool.name: tool for tool in (*self.tools, *self.distractors)}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of the whole file."""
        return sha256(dict(self.source))

    def with_tools(self, entries: Sequence[Mapping[str, JSON]], where: str) -> Contract:
        """Return the contract with further tools, each in the place of its namesake if there is one.

        Raises
        ------
        SuiteError
            When an entry is no usable tool.
        """
        brought = self.from_json({"version": self.version, "tools": list(entries)}, where)
        written: dict[str, JSON] = {
            entry["name"]: entry for entry in (*self.source["tools"], *brought.source["tools"])
        }
        return replace(
            self,
            tools=tuple({**self.by_name, **brought.by_name}.values()),
            source={**self.source, "tools": list(written.values())},
        )

    def offered(self, names: Sequence[str] | None, order: str = "canonical") -> tuple[ToolSpec, ...]:
        """Return the own tools on offer, in contract order changed by ``order``.

        Parameters
        ----------
        names
            Names to keep; ``None`` keeps all.
        order
            ``canonical``, ``reversed``, or ``rotate:K`` (the first K tools move to the end).
        """
        kept = tuple(tool for tool in self.tools if names is None or tool.name in names)
        return self.arranged(kept, order)

    def arranged(
        self, own: Sequence[ToolSpec], order: str, number: int | None = None, seed: str = ""
    ) -> tuple[ToolSpec, ...]:
        """Return own tools in an order, among so many of the distractors that there are ``number`` in all.

        Where the own ones stand among the others depends on ``seed`` alone, and their order stays. More
        distractors are always the same ones and some more.
        """
        kept = tuple(own)
        if number is not None:
            others = self.distractors[: max(0, number - len(kept))]
            places = set(random.Random(seed).sample(range(len(kept) + len(others)), len(kept)))
            waiting = iter(kept), iter(others)
            kept = tuple(next(waiting[place not in places]) for place in range(len(kept) + len(others)))
        if order == "canonical":
            return kept
        if order == "reversed":
            return kept[::-1]
        if order.startswith("rotate:") and order[7:].isdigit() and kept:
            shift = int(order[7:]) % len(kept)
            return kept[shift:] + kept[:shift]
        raise SuiteError(f"tool order {order!r}: use canonical, reversed or rotate:K")


@dataclass(frozen=True)
class Overlay:
    """Another wording of a contract: renamed tools, other descriptions. The tools behind it are the same."""

    name: str
    tools: Mapping[str, Mapping[str, JSON]]
    source: Mapping[str, JSON]

    @classmethod
    def load(cls, path: Path, contract: Contract) -> Overlay:
        """Load ``descriptions.<variant>.json`` and check it against its contract."""
        data = read_json(path, "overlay")
        for name in data["tools"]:
            if name not in contract.by_name:
                raise SuiteError(f"{path}: tools.{name}: the contract has no such tool")
        renamed = [entry.get("name", name) for name, entry in data["tools"].items()]
        kept = [name for name in contract.by_name if name not in data["tools"]]
        if len(set(renamed + kept)) != len(renamed + kept):
            raise SuiteError(f"{path}: two tools end up with the same name")
        return cls(name=path.name.split(".")[1], tools=data["tools"], source=data)

    def apply(self, tool: ToolSpec) -> ToolSpec:
        """Return the tool as this variant words it (same schema rules, same policy)."""
        entry = self.tools.get(tool.name)
        if entry is None:
            return tool
        wording = entry.get("parameters", {})
        description = entry.get("description", tool.description)
        return replace(
            tool,
            name=entry.get("name", tool.name),
            description=description if isinstance(description, dict) else {"": description},
            parameters=_described(tool.parameters, wording),
            wordings={name: told for name, told in tool.wordings.items() if name not in wording},
        )


def _wordings(properties: JSON) -> Mapping[str, Mapping[str, str]]:
    """Return the descriptions of properties that are written by language."""
    if not isinstance(properties, dict):
        return {}
    told = {
        name: schema.get("description") for name, schema in properties.items() if isinstance(schema, dict)
    }
    return {name: texts for name, texts in told.items() if isinstance(texts, dict) and texts}


def _described(parameters: Mapping[str, JSON], texts: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return a schema with other descriptions of some of its properties."""
    if not texts:
        return parameters
    properties = {
        name: {**schema, "description": texts[name]} if name in texts else schema
        for name, schema in parameters.get("properties", {}).items()
    }
    return {**parameters, "properties": properties}
