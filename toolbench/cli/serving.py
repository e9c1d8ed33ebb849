"""Servers that run until Ctrl-C: ``serve local``, ``serve simulator``."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_urlsafe

import click

from toolbench.cli.plain import EXISTING, PORT, plain_errors, say
from toolbench.errors import InputError


@click.group()
def serve() -> None:
    """Start a local model or the provider simulator."""


@serve.command("local")
@click.argument("model")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8080, show_default=True, help="0 takes a free port.")
@click.option(
    "--context", type=click.IntRange(min=256), default=4096, show_default=True, help="Tokens of one request."
)
@click.option(
    "--slots", type=click.IntRange(1, 64), default=1, show_default=True, help="Requests answered at once."
)
@click.option(
    "--api-key-env", metavar="NAME", help="Variable with the key; without it a key is made and told."
)
@plain_errors
def serve_local(model: str, host: str, port: int, context: int, slots: int, api_key_env: str | None) -> None:
    """Serve MODEL (a known name or a path to a .gguf file) over HTTP until Ctrl-C.

    Any page in a browser on this machine can send requests to a port of it, so a key is always asked for.

    \b
    Examples:
      toolbench serve local qwen2.5-coder-0.5b-instruct
      toolbench serve local ~/models/my-model.gguf --port 9000 --api-key-env LOCAL_KEY
    """
    from toolbench.local.llama_server import serve_forever

    key = token_urlsafe(24) if api_key_env is None else os.environ.get(api_key_env, "")
    if not key:
        raise InputError(f"serve local: the variable {api_key_env} holds no key")
    if api_key_env is None:
        say(f"key of this server, until it ends: {key}")
    serve_forever(model, host=host, port=port, n_ctx=context, n_parallel=slots, api_key=key)


@serve.command("simulator")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8081, show_default=True, help="0 takes a free port.")
@click.option("--script", type=EXISTING, help="What the simulated models do (JSON); see the README.")
@plain_errors
def serve_simulator(host: str, port: int, script: Path | None) -> None:
    """Serve a strict imitation of five providers' wire formats until Ctrl-C.

    \b
    Examples:
      toolbench serve simulator --port 8081
      toolbench serve simulator --script simulator.example.json
    """
    from toolbench.simulator import serve_forever

    serve_forever(host, port, script)
