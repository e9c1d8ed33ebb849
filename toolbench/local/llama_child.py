"""The child process that holds llama.cpp; started by `toolbench.local.llama_server` and not by hand.

It writes the server's address to standard output once the model is loaded, logs to standard error, and ends
with SIGTERM, SIGINT or its parent (seen as the end of standard input).
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

API_KEY_ENV = "TOOLBENCH_LOCAL_API_KEY"
LOG_LIMIT_BYTES = 4 << 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent; return only when the server cannot start."""
    options = _parser().parse_args(arguments)
    # Before any thread exists, so that the server's threads leave these signals to sigwait too: its own
    # handler would stop the HTTP side only, and this process would live on.
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    with os.fdopen(os.dup(1), "w") as ready:
        os.dup2(2, 1)
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
        try:
            import xllamacpp

            server = xllamacpp.Server(_params(options))
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return 1
        print(server.listening_address, file=ready)
    signal.sigwait(stops)
    # Not by dropping the server, which waits for the requests under way: there is nothing to save here.
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m toolbench.local.llama_server")
    parser.add_argument("weights")
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--n-ctx", type=int, required=True)
    parser.add_argument("--n-parallel", type=int, required=True)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--chat-template")
    return parser


def _params(options: argparse.Namespace) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.weights
    params.model_alias = options.alias
    params.hostname, params.port = options.host, options.port
    # llama.cpp divides the context among the parallel slots.
    params.n_ctx, params.n_parallel = options.n_ctx * options.n_parallel, options.n_parallel
    params.use_jinja = True
    params.endpoint_metrics = True
    params.webui = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads or _usable_cores()
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    if options.chat_template is not None:
        params.chat_template = options.chat_template
    if key := os.environ.get(API_KEY_ENV):
        params.api_keys = [key]
    return params


def _usable_cores() -> int:
    """Return the cores this process may use.

    llama.cpp's own default can be more threads than there are cores, which cost more than half the speed.
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _end_with_parent(parent: int) -> None:
    """End this process when the parent has gone; meanwhile keep the log small.

    The parent holds the other end of standard input, which the system closes however the parent dies. A fork
    of the parent may hold it too, hence the look at the parent's id. (Linux's PR_SET_PDEATHSIG would fire at
    the end of the *thread* that started the server, and macOS has none.)
    """
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable and not os.read(0, 1):
            break
        if os.fstat(2).st_size > LOG_LIMIT_BYTES:
            os.ftruncate(2, 0)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
