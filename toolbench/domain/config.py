"""The configuration: which models, under which conditions, on which cases, with which limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition, Selection
from toolbench.domain.extensions import OWN, extensions_of
from toolbench.domain.files import read_json, validate
from toolbench.domain.keys import BASELINE, PlayerKey
from toolbench.errors import ConfigError

PLACEHOLDER = re.compile(r"REPLACE_WITH|<[a-z _-]+>|CHANGE_?ME", re.IGNORECASE)
SECRET_NAME = re.compile(
    r"(^|[-_.])(api[-_]?key|apikey|key|token|secret|sig|signature|password|passwd|pwd|auth|authorization|credentials?|cookie|session)s?($|[-_.])"
    r"|(key|token|secret|password)$",
    re.IGNORECASE,
)
"""Names of headers and query parameters whose values are never shown."""
SECRET_LOOKING = re.compile(r"\b(sk|key|pat|ghp|xai|gsk)[-_][A-Za-z0-9_-]{12,}|Bearer\s+\S{12,}")
Kind = Literal["baseline", "embedded", "scripted", "http"]
INDIFFERENT = frozenset({"parallelism", "timeouts", "retries", "budgets", "labels"})
INDIFFERENT_OF_A_MODEL = frozenset({"parallelism", "requests_per_minute", "api_key_env", "price", "batch"})
REDACTED = "[redacted]"
BASELINES = ("always_silent", "always_first_tool", "random_tool", "keyword_router")
EMBEDDED, SCRIPTED, IN_PROCESS = "embedded:", "simulator:", "baseline:"


@dataclass(frozen=True)
class Settings:
    """Sampling settings as asked for; ``None`` leaves the choice to the provider."""

    temperature: float | None = 0.0
    max_output_tokens: int = 500
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    strict: bool | None = None
    stream: bool = False


@dataclass(frozen=True)
class ModelConfig:
    """One model behind one wire protocol. ``provider`` is a label; (provider, model, protocol) is unique.

    Attributes
    ----------
    family
        The id by which the model's capabilities are known, where ``model`` is a deployment's or an alias.
    omit
        Dotted paths of body fields that are not sent although the adapter would.
    batch
        Which requests go through the provider's batch endpoint: the ``first`` of every attempt, or ``every``.
    headers
        Laid over the adapter's own; ``env:NAME`` is read from the environment, ``None`` takes a header out.
    """

    provider: str
    model: str
    protocol: str
    base_url: str
    profile: str | None = None
    api_key_env: str | None = None
    settings: Settings = field(default_factory=Settings)
    extra_body: Mapping[str, JSON] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    price: Mapping[str, JSON] | None = None
    capabilities: Mapping[str, str] = field(default_factory=dict)
    parallelism: int | None = None
    requests_per_minute: float | None = None
    family: str | None = None
    omit: Sequence[str] = ()
    batch: Literal["first", "every"] | None = None

    @property
    def public_headers(self) -> dict[str, str | None]:
        """The headers that may be written down: neither from the environment nor named as secrets."""
        return {
            name: value
            for name, value in self.headers.items()
            if not (isinstance(value, str) and (value.startswith("env:") or SECRET_NAME.search(name)))
        }

    @property
    def key(self) -> PlayerKey:
        """What tells this entry from all others."""
        return PlayerKey(self.provider, self.model, self.protocol)

    @property
    def kind(self) -> Kind:
        """How the model is reached: in this process, on a server started for it, or at an address."""
        if self.base_url == IN_PROCESS:
            return "baseline"
        if self.base_url.startswith(SCRIPTED):
            return "scripted"
        return "embedded" if self.base_url.startswith(EMBEDDED) else "http"

    @property
    def weights(self) -> str:
        """Name or path of an embedded model's weights: after ``embedded:``, else the model's name."""
        return self.base_url.removeprefix(EMBEDDED) or self.model

    def script(self, root: Path) -> Path | None:
        """Path of a scripted model's script: after ``simulator:``, seen from ``root``."""
        name = self.base_url.removeprefix(SCRIPTED)
        return root / name if name else None


@dataclass(frozen=True)
class Config:
    """A whole run as asked for. See ``schemas/config.schema.json`` for every key."""

    runs: tuple[ModelConfig, ...]
    baselines: tuple[str, ...] = BASELINES
    suites: tuple[str, ...] = ()
    cases: Selection = field(default_factory=Selection)
    conditions: tuple[Condition, ...] = (BUILT_IN_CONDITIONS["auto"],)
    repetitions: int = 3
    parallelism: int = 1
    loop_limit: int = 5
    seed: int = 0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    retries: Mapping[str, float] = field(default_factory=dict)
    budgets: Mapping[str, float] = field(default_factory=dict)
    gates: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    allow_writes: bool = False
    writes_confirmed: bool = False
    root: Path = field(default=Path())

    @property
    def players(self) -> tuple[ModelConfig, ...]:
        """The baselines, then the models, in the order they are run."""
        baselines = tuple(
            ModelConfig(provider=BASELINE, model=name, protocol="chat_completions", base_url=IN_PROCESS)
            for name in self.baselines
        )
        return baselines + self.runs

    @property
    def may_write(self) -> bool:
        """Whether live tools may write: the file says so, and so does who has started the run."""
        return self.allow_writes and self.writes_confirmed

    def snapshot(self) -> dict[str, JSON]:
        """Return the configuration as recorded in a run header: no key, no user part in an address."""
        data = asdict(self)
        for name in ("root", "allow_writes", "writes_confirmed"):
            del data[name]
        if self.may_write:
            data["may_write"] = True
        for run, model in zip(data["runs"], self.runs, strict=True):
            if model.batch is None:
                del run["batch"]
            public = model.public_headers
            run["base_url"] = public_url(run["base_url"])
            run["headers"] = {
                name: value if name in public or not value or value.startswith("env:") else REDACTED
                for name, value in run["headers"].items()
            }
        return data

    @property
    def hash(self) -> str:
        """SHA-256 of the recorded configuration."""
        return sha256(self.snapshot())

    @classmethod
    def load(cls, path: Path) -> Config:
        """Load and check ``config.json``.

        Raises
        ------
        ConfigError
            For a broken file, an unknown key, a placeholder left in place, or anything that looks like a key.
        """
        return cls.from_json(read_json(path, error=ConfigError), str(path), _root_of(path))

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str, root: Path = Path()) -> Config:
        """Build from the parsed document; ``root`` is where suite names and the gates file are looked up."""
        _refuse_keys(data, where)
        validate(data, "config", where, ConfigError)
        defaults = data.get("defaults", {})
        runs = tuple(_model(entry, defaults, f"{where}: runs[{i}]") for i, entry in enumerate(data["runs"]))
        for run in runs:
            if [other.key for other in runs].count(run.key) > 1:
                raise ConfigError(f"{where}: runs: {run.key} occurs twice; give one another provider label")
        plain = {
            name: data[name]
            for name in (
                "repetitions",
                "parallelism",
                "loop_limit",
                "seed",
                "timeouts",
                "retries",
                "budgets",
                "labels",
                "allow_writes",
                "gates",
            )
            if name in data
        }
        config = cls(
            runs=runs,
            baselines=tuple(data.get("baselines", BASELINES)),
            suites=tuple(data.get("suites", ())),
            cases=Selection(**data.get("cases", {})),
            conditions=_conditions(data.get("conditions", ["auto"]), where),
            root=root,
            **plain,
        )
        if not config.players:
            raise ConfigError(f"{where}: neither runs nor baselines name anything to run")
        return config

    def choose_conditions(self, names: Sequence[str]) -> Config:
        """Return the same configuration with only the named conditions (its own, or built-in ones)."""
        own = {condition.name: condition for condition in self.conditions}
        known = {**BUILT_IN_CONDITIONS, **own}
        for name in names:
            if name not in known:
                raise ConfigError(f"unknown condition {name!r}; there are: {', '.join(known)}")
        return replace(self, conditions=tuple(known[name] for name in dict.fromkeys(names)))


def decides_verdicts(snapshot: Mapping[str, Any]) -> dict[str, JSON]:
    """Return what of a recorded configuration decides what a model is asked and how that is judged.

    How fast, how patiently, for how much money and under which labels is left out: a run may be continued
    with other values of these.
    """
    kept = {name: value for name, value in snapshot.items() if name not in INDIFFERENT}
    kept["runs"] = [
        {name: value for name, value in run.items() if name not in INDIFFERENT_OF_A_MODEL}
        for run in snapshot.get("runs", ())
    ]
    return kept


def _root_of(path: Path) -> Path:
    """Return the nearest folder around a configuration that holds ``contracts``, else its own folder."""
    folders = [path.parent, *path.resolve().parent.parents]
    return next((folder for folder in folders if (folder / "contracts").is_dir()), path.parent)


def public_url(url: str) -> str:
    """Return an address without user name, password and fragment; values of secret parameters are hidden."""
    parts = urlsplit(url)
    if not parts.netloc and "@" in parts.path:
        # Without a scheme a name is read as one, or with the password as the beginning of a path.
        parts = parts._replace(scheme="", path=parts.path.rpartition("@")[2])
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(
        f"{name}={REDACTED}" if SECRET_NAME.search(name) else f"{name}={value}" if sign else name
        for name, sign, value in (item.partition("=") for item in parts.query.split("&") if item)
    )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def _model(entry: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> ModelConfig:
    for name in ("model", "base_url", "provider"):
        if PLACEHOLDER.search(entry[name]):
            raise ConfigError(f"{where}.{name}: {entry[name]!r} is a placeholder; put the real value there")
    spoken = (*OWN["adapters"], *extensions_of("adapters"))
    if entry["protocol"] not in spoken:
        raise ConfigError(
            f"{where}.protocol: no adapter speaks {entry['protocol']!r} (there are {', '.join(spoken)})"
        )
    if entry["provider"] == BASELINE:
        raise ConfigError(
            f"{where}.provider: {BASELINE!r} is the label of the baselines, which gates and reports leave "
            "out; choose another"
        )
    if entry["base_url"].startswith(EMBEDDED) and entry["protocol"] in ("ollama_chat", "generate_content"):
        raise ConfigError(f"{where}.protocol: the embedded server does not speak {entry['protocol']}")
    _check_address(entry["base_url"], f"{where}.base_url")
    for name, value in entry.get("headers", {}).items():
        legal = value is None or re.fullmatch(r"[\x20-\x7e]*", value)
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not legal:
            raise ConfigError(f"{where}.headers: {name!r} or its value holds what no HTTP header can carry")
    return ModelConfig(**{**entry, "settings": Settings(**{**defaults, **entry.get("settings", {})})})


def _check_address(url: str, where: str) -> None:
    """Refuse an address that no request could be sent to, before anything is run."""
    if url.startswith((EMBEDDED, SCRIPTED)):
        return
    shown = public_url(url) if url.isprintable() and "[" not in url else "it"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as fault:
        raise ConfigError(f"{where}: {shown} is no usable address: {fault}") from None
    if (
        not host
        or not re.fullmatch(r"[\x21-\x7e]+", url)
        or any(len(label) > 63 for label in host.split("."))
    ):
        raise ConfigError(f"{where}: {shown} is no usable address")
    if port == 0:
        raise ConfigError(f"{where}: port 0 is no address")


def _conditions(entries: Iterable[str | Mapping[str, Any]], where: str) -> tuple[Condition, ...]:
    conditions: dict[str, Condition] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, str):
            if entry not in BUILT_IN_CONDITIONS:
                known = ", ".join(BUILT_IN_CONDITIONS)
                raise ConfigError(
                    f"{where}: conditions[{index}]: unknown condition {entry!r}; built in: {known}"
                )
            condition = BUILT_IN_CONDITIONS[entry]
        else:
            # A definition with a built-in name starts from it, so that only the change is written down.
            base = BUILT_IN_CONDITIONS.get(entry["name"], Condition(entry["name"]))
            changes = {**entry, **({"cases": Selection(**entry["cases"])} if "cases" in entry else {})}
            condition = replace(base, **changes)
        if condition.name in conditions:
            raise ConfigError(f"{where}: conditions[{index}]: {condition.name!r} occurs twice")
        conditions[condition.name] = condition
    return tuple(conditions.values())


def _refuse_keys(data: JSON, where: str, path: str = "") -> None:
    """Refuse a key written into the file, before anything can print or record it."""
    if isinstance(data, dict):
        for name, value in data.items():
            if re.fullmatch(r"(?i)(x[-_])?(api[-_]?key|token|secret|password|authorization)", str(name)) and (
                not (isinstance(value, str) and value.startswith("env:"))
            ):
                raise ConfigError(
                    f"{where}: {path}{name}: keys are never written here; name an environment variable "
                    "in api_key_env (or write env:NAME as a header's value)"
                )
            if (
                name == "api_key_env"
                and isinstance(value, str)
                and not re.fullmatch(r"[A-Za-z_]\w{0,63}", value)
            ):
                raise ConfigError(
                    f"{where}: {path}{name}: is no name of an environment variable (and is not shown: "
                    "it may be the key itself)"
                )
            if name == "base_url" and isinstance(value, str) and not re.match(r"[a-z]+:", value):
                raise ConfigError(f"{where}: {path}{name}: begins with no scheme, such as https://")
            _refuse_keys(value, where, f"{path}{name}.")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            _refuse_keys(value, where, f"{path}[{index}].")
    elif isinstance(data, str) and SECRET_LOOKING.search(data):
        raise ConfigError(
            f"{where}: {path.rstrip('.')}: looks like a key; keys come from the environment only"
        )
