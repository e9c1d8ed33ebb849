"""A request of the log as something to send by hand: curl, Python or JSON. No key is in any of them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pprint import pformat
from typing import Any

from toolbench.adapters import adapter_for
from toolbench.domain.config import EMBEDDED
from toolbench.domain.record import TurnRecord
from toolbench.showing import html
from toolbench.showing.html import Page

SERVED = "http://127.0.0.1:8080/v1"
"""Where ``toolbench serve local`` listens: the server of a run is gone, and so is its address."""
VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)


@dataclass(frozen=True)
class Sending:
    """What is sent where.

    ``secret`` are the headers of a key, with the place of the key left open as ``{}``; ``variable`` is the
    environment variable that holds it.
    """

    url: str
    headers: Mapping[str, str]
    secret: Mapping[str, str]
    variable: str
    body: Any

    @classmethod
    def of(cls, turn: TurnRecord, player: Mapping[str, Any]) -> Sending:
        """Take a request as it was sent; ``player`` is the configured model."""
        request: Mapping[str, Any] = turn.request
        base = SERVED if str(player["base_url"]).startswith(EMBEDDED) else str(player["base_url"])
        # A log from elsewhere can hold anything, and what is copied lands in a shell.
        named = str(player.get("api_key_env") or "")
        variable = named if VARIABLE.fullmatch(named) else "API_KEY" if named else ""
        return cls(
            url=base.rstrip("/") + str(request["path"]),
            headers={"content-type": "application/json", **request.get("headers", {})},
            secret=adapter_for(str(player["protocol"])).auth_headers("{}") if variable else {},
            variable=variable,
            body=request["body"],
        )


def curl(sent: Sending) -> str:
    """Return a line for a POSIX shell; the key is taken from its variable."""
    parts = [f"curl {shlex.quote(sent.url)}"]
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in sent.headers.items()]
    parts += [f'-H "{name}: {value.format("$" + sent.variable)}"' for name, value in sent.secret.items()]
    return " \\\n  ".join([*parts, f"-d {shlex.quote(json.dumps(sent.body, ensure_ascii=False))}"])


def python(sent: Sending) -> str:
    """Return a script for httpx; the key is taken from its variable."""
    headers = [f"    {name!r}: {value!r}," for name, value in sent.headers.items()]
    key = f'os.environ["{sent.variable}"]'
    headers += [f"    {name!r}: {value!r}.format({key})," for name, value in sent.secret.items()]
    return "\n".join(
        [
            *(["import os", ""] if sent.secret else []),
            "import httpx",
            "",
            "headers = {",
            *headers,
            "}",
            f"body = {pformat(sent.body, sort_dicts=False, width=100)}",
            f"reply = httpx.post({sent.url!r}, headers=headers, json=body, timeout=120)",
            "print(reply.status_code, reply.text)",
        ]
    )


def as_json(sent: Sending) -> str:
    """Return the body alone."""
    return json.dumps(sent.body, ensure_ascii=False, indent=1)


FORMS: Mapping[str, Callable[[Sending], str]] = {"curl": curl, "Python": python, "JSON": as_json}


def copies(turn: TurnRecord, player: Mapping[str, Any]) -> Page:
    """Return the request of a turn in every form, each a block that one click selects whole."""
    return html.folded("Copy this request (no key in it)", html.join(_forms(Sending.of(turn, player))))


def _forms(sent: Sending) -> Iterator[Page]:
    for name, form in FORMS.items():
        yield html.heading(f"{name}: click, then copy", 4)
        yield html.preformatted(form(sent), 200_000, "copy")
