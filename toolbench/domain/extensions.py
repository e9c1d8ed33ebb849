"""Adapters, checks, normalisers and importers of other people: by entry points, or by a decorator.

A package names them under ``toolbench.adapters``, ``toolbench.checks``, ``toolbench.normalizers`` and
``toolbench.importers``; the package's version is theirs. Name and version are part of a run's header and of
every signature. One that cannot be loaded stops the command that needs its kind, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, Literal, TypeVar, get_args

from toolbench.domain.codes import CODES, Code
from toolbench.errors import ExtensionError

Kind = Literal["adapters", "checks", "normalizers", "importers"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OWN: Mapping[Kind, tuple[str, ...]] = {
    "adapters": ("chat_completions", "responses", "messages", "ollama_chat", "generate_content"),
    "checks": (),
    "normalizers": ("text", "city", "number", "money", "identifier", "date", "expression"),
    "importers": ("openai-tools", "python", "openapi", "mcp"),
}
"""Names that are taken by what comes with toolbench."""
T = TypeVar("T")


@dataclass(frozen=True)
class Check:
    """A check of somebody else's.

    Attributes
    ----------
    run
        Given the trace of an attempt (:class:`toolbench.judging.trace.Trace`), yields findings.
    codes
        Every code it can raise → what that means, one sentence.
    layer
        The family its findings belong to: decision, selection, values, order, policy or answer.
    """

    run: Callable[[Any], Iterable[Any]]
    codes: Mapping[str, str]
    layer: str = "policy"


@dataclass(frozen=True)
class Extension:
    """Something that is not toolbench's own."""

    kind: Kind
    name: str
    version: str
    value: Any

    def __str__(self) -> str:
        return f"{self.kind}.{self.name}@{self.version}"


_decorated: dict[tuple[Kind, str], Extension] = {}


def extension(kind: Kind, name: str, version: str) -> Callable[[T], T]:
    """Register what stands below as an extension of this process, in a notebook for example.

    An adapter is an instance of a subclass of one of toolbench's, a check a :class:`Check`, a normaliser a
    function from value to value, an importer a function from a source's text to ``Material``. The same name
    again takes its place.

    Raises
    ------
    ExtensionError
        When the name is taken by toolbench itself, or the value is nothing of the kind.
    """

    def register(value: T) -> T:
        _decorated[kind, name] = _accepted(Extension(kind, name, version, value), "the decorator")
        return value

    return register


def extensions_of(kind: Kind) -> Mapping[str, Extension]:
    """Return the extensions of a kind by name.

    Raises
    ------
    ExtensionError
        Naming the one that cannot be loaded.
    """
    mine = {name: one for (group, name), one in _decorated.items() if group == kind}
    return {**_installed(kind), **mine}


def is_local(*kinds: Kind) -> bool:
    """Whether anything of these kinds is registered in this process only, by the decorator."""
    return any(group in kinds for group, _ in _decorated)


def versions_of(*kinds: Kind) -> list[str]:
    """Return ``kind.name@version`` of all extensions of these kinds, sorted."""
    return sorted(str(one) for kind in kinds for one in extensions_of(kind).values())


def wire_of(protocol: str) -> str:
    """Return the wire that a protocol speaks: of an extension, the one its adapter is made from."""
    found = extensions_of("adapters").get(protocol)
    return str(found.value.protocol) if found else protocol


@cache
def _installed(kind: Kind) -> Mapping[str, Extension]:
    found: dict[str, Extension] = {}
    for point in metadata.entry_points(group=f"toolbench.{kind}"):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
        try:
            value = point.load()
        except Exception as fault:
            told = " ".join(f"{type(fault).__name__}: {fault}".split())[:200]
            raise ExtensionError(
                f"extension {kind}.{point.name} of {package} cannot be loaded: {told}; mend or uninstall it"
            ) from None
        version = point.dist.version if point.dist else "unknown"
        if point.name in found:
            raise ExtensionError(f"extension {kind}.{point.name} of {package}: another package has that name")
        found[point.name] = _accepted(Extension(kind, point.name, version, value), package)
    return found


def _accepted(one: Extension, package: str) -> Extension:
    where = f"extension {one.kind}.{one.name} of {package}"
    if one.name in OWN[one.kind]:
        raise ExtensionError(f"{where}: the name belongs to toolbench itself")
    right = {
        "adapters": hasattr(one.value, "build_request") and not isinstance(one.value, type),
        "checks": isinstance(one.value, Check),
    }.get(one.kind, callable(one.value))
    if not right:
        raise ExtensionError(f"{where}: {type(one.value).__name__} is nothing of that kind")
    if isinstance(one.value, Check):
        for code, meaning in one.value.codes.items():
            known = CODES.get(code)
            if known is not None and not known.check.startswith("extension:"):
                raise ExtensionError(f"{where}: the code {code} belongs to toolbench itself")
            told = {"ru": meaning, "en": meaning}
            CODES[code] = Code(one.value.layer, f"extension:{one.name}", told, told)
    return one
