"""The run header: everything a run depends on, fixed before the first request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from toolbench.adapters import dialect_of
from toolbench.domain.canonical import JSON, canonical_json, loads_strict, sha256
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.environment import code_commit, now, versions
from toolbench.domain.files import read_json, schema_validator
from toolbench.domain.plurals import plural
from toolbench.domain.record import RunHeader
from toolbench.domain.suite import Suite
from toolbench.errors import ConfigError
from toolbench.running.distractors import crowded


def make_header(config: Config, suites: Sequence[Suite], run_id: str) -> RunHeader:
    """Fix everything a run depends on, before the first request.

    Raises
    ------
    ConfigError
        When the gates file cannot be read, a condition names an unknown prompt or description variant, or
        nothing is left to run.
    """
    chosen = [
        crowded(config, suite.keep(case for case in suite.cases if config.cases(case))) for suite in suites
    ]
    for suite in chosen:
        for condition in config.conditions:
            suite.overlay(condition.descriptions)
            for case in suite.cases:
                suite.system(case, condition.prompt)
    gates = read_json(config.root / config.gates, "gates", ConfigError) if config.gates else None
    snapshot = loads_strict(canonical_json(config.snapshot()))
    header = RunHeader(
        run_id=run_id,
        started_at=now(),
        config=snapshot,
        conditions=[asdict(condition) for condition in config.conditions],
        players=[
            {
                "provider": p.provider,
                "model": p.model,
                "protocol": p.protocol,
                "price": p.price,
                "charges": charges_of(p),
            }
            for p in config.players
        ],
        suites=[suite.snapshot() for suite in chosen],
        hashes={
            "config": config.hash,
            "suites": {suite.name: dict(suite.hashes) for suite in chosen},
            "gates": sha256(gates) if gates is not None else None,
        },
        versions=versions(),
        git_commit=code_commit(),
        gates=gates,
        labels=dict(config.labels),
    ).sealed()
    if not any(True for _ in header.plan()):
        drafts = sum(case.draft for suite in chosen for case in suite.cases)
        waits = "draft waits until somebody deletes its mark", "drafts wait until somebody deletes their mark"
        waiting = f"; {plural(drafts, *waits)}" if drafts else ""
        raise ConfigError(
            f"no case is left to run: check suites, cases and conditions of the configuration{waiting}"
        )
    return header


def charges_of(model: ModelConfig) -> str | None:
    """Return the currency in which a model's server says what it has charged: its own credits, if unknown."""
    if model.kind != "http":
        return None
    return dialect_of(model).cost_currency or f"credits of {model.provider}"


def public_text(header: RunHeader) -> str:
    """Return all text that is open anyway: the header, and the words every record is made of."""
    return canonical_json([header.to_json(), schema_validator("record").schema])


def differences(old: Mapping[str, JSON], new: Mapping[str, JSON], path: str = "") -> list[str]:
    """Return the dotted names of what differs between two JSON objects."""
    found: list[str] = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            found += differences(before, after, f"{path}{name}.")
        elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            found += differences(_numbered(before), _numbered(after), f"{path}{name}.")
        elif before != after:
            found.append(f"{path}{name}")
    return found


def _numbered(values: Sequence[JSON]) -> dict[str, JSON]:
    return {str(index): value for index, value in enumerate(values)}
