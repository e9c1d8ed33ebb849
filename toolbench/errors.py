"""Every error a user can cause or meet, drawn as one tree.

::

    ToolbenchError              anything a user can act on; the CLI prints it as one line
    ├── InputError              a file or value is wrong          -> exit code 2
    │   ├── ConfigError         config.json
    │   ├── SuiteError          contract, prompt, executor, rules or cases
    │   ├── LogError            a run's JSONL
    │   └── ExtensionError      an adapter, check, normaliser or importer of another package
    ├── PatternTooSlow          a suite's pattern and one text  -> that attempt is not judged
    ├── ServingError            a local server or its weights     -> exit code 2
    ├── ClusterError            a scheduler or its workers        -> exit code 2
    └── TransportError          no usable reply from a provider   -> recorded, never raised to a user

A message names what is wrong, where it is and what to do about it, in one line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


class ToolbenchError(Exception):
    """Base of all errors that toolbench raises on purpose."""


class InputError(ToolbenchError):
    """A file or a value handed to toolbench is wrong."""


class ConfigError(InputError):
    """The configuration is wrong."""


class SuiteError(InputError):
    """A contract, prompt, executor script, rule file or case is wrong."""


class LogError(InputError):
    """A run's log cannot be read, written or trusted."""


class ExtensionError(InputError):
    """An adapter, check, normaliser or importer of another package is broken."""


class PatternTooSlow(ToolbenchError):
    """A pattern out of a suite's files was still searching one text when its time was up."""


class ServingError(ToolbenchError):
    """A local model or simulator could not be provided."""


class ClusterError(ToolbenchError):
    """A scheduler or its workers are away, of another version, or cannot do what is asked."""


@dataclass
class TransportError(ToolbenchError):
    """No usable reply: the network, the server or the account failed, not the model.

    Attributes
    ----------
    code
        Stable machine word, for example ``rate_limited`` or ``connect``.
    message
        One redacted line.
    status
        HTTP status, when there was a reply.
    retryable
        Whether trying again can help.
    retry_after
        Seconds the server asked to wait, when it did.
    unsupported
        The request was understood and refused because the model does not offer the setting.
    decides
        ``invalid`` or ``refusal`` when the error reports the model's own turn: output that could not be
        parsed, or a content filter that answered. Such a turn is scored and never made again.
    generated
        What the model had written, as far as the server tells.
    retries
        Every failed try, oldest first.
    """

    code: str
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after: float | None = None
    unsupported: bool = False
    decides: Literal["", "invalid", "refusal"] = ""
    generated: str = ""
    retries: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
