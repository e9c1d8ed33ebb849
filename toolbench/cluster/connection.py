"""Connecting to a scheduler whose workers run this very toolbench, or saying in one line why not."""

from __future__ import annotations

import logging
import platform
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from toolbench.domain.environment import code_hash, package_version
from toolbench.errors import ClusterError, InputError

if TYPE_CHECKING:
    from distributed import Client

ADDRESS = re.compile(r"((tcp|tls|wss?)://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):\d+")
PATIENCE = 5
"""Seconds in which a scheduler has to answer."""
HERE = "without --scheduler this machine does the work"


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Client]:
    """Yield a client of the scheduler at an address such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    InputError
        When the extra is not installed or the address is none.
    ClusterError
        When the scheduler is away, has no workers, or one of them is of another version.
    """
    require_engine()
    from distributed import Client

    # What goes wrong is told by whoever meets it, in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if not ADDRESS.fullmatch(address):
        raise InputError(f"{address}: no address of a scheduler, such as tcp://10.0.0.5:8786; {HERE}")
    try:
        with catch_warnings():
            # Of other versions: they are refused below.
            simplefilter("ignore")
            client = await Client(address, asynchronous=True, timeout=PATIENCE, set_as_default=False)
    except Exception as fault:
        raise ClusterError(
            f"{address}: no scheduler of this version answers there ({_short(fault)}); start one with "
            f"`dask scheduler`; {HERE}"
        ) from None
    try:
        await _refuse_others(client, address)
        yield client
    finally:
        with suppress(Exception):
            await client.close(timeout=PATIENCE)


def require_engine() -> None:
    """Refuse to go on where the engine is not installed.

    Raises
    ------
    InputError
        Naming the extra.
    """
    if find_spec("distributed") is None:
        raise InputError(f"a scheduler needs the extra: pip install 'toolcall-workbench[scale]'; {HERE}")


def gone(address: str) -> ClusterError:
    """Return the error of a scheduler that has been there and is away now."""
    return ClusterError(
        f"{address}: the scheduler is gone; what was finished is kept: start it again and --resume, or go on "
        "without --scheduler"
    )


def versions_here() -> dict[str, str]:
    """Return what has to be the same on every machine: no result may depend on where it was made."""
    import distributed

    return {
        "python": platform.python_version().rpartition(".")[0],
        "distributed": distributed.__version__,
        "toolbench": f"{package_version()} ({code_hash()})",
    }


async def _refuse_others(client: Client, address: str) -> None:
    mine = versions_here()
    theirs: dict[str, Any] = {}
    try:
        versions = await client.get_versions()
        theirs["the scheduler"] = versions["scheduler"]
        theirs.update({f"worker {name}": found for name, found in versions["workers"].items()})
        for name, found in theirs.items():
            _same(name, "distributed", _plain(found, "distributed"), mine["distributed"])
        if not versions["workers"]:
            raise ClusterError(
                f"{address}: the scheduler has no worker; start some with `dask worker`; {HERE}"
            )
        told = {"the scheduler": await client.run_on_scheduler(versions_here)}
        told.update({f"worker {name}": found for name, found in (await client.run(versions_here)).items()})
    except ClusterError:
        raise
    except ModuleNotFoundError as fault:
        raise ClusterError(
            f"{address}: a machine of the cluster cannot import {fault.name}: install this toolbench with "
            f"the extra `scale` on the scheduler's and every worker's; {HERE}"
        ) from None
    except Exception as fault:
        raise ClusterError(f"{address}: the cluster cannot be asked ({_short(fault)}); {HERE}") from None
    for name, found in told.items():
        for package, version in mine.items():
            _same(name, package, found[package], version)


def _same(where: str, package: str, theirs: str, mine: str) -> None:
    if theirs != mine:
        raise ClusterError(
            f"{where} has {package} {theirs}, this machine has {mine}: install the same everywhere; {HERE}"
        )


def _plain(found: Any, package: str) -> str:
    packages = found.get("packages", {}) if isinstance(found, dict) else {}
    return str(packages.get(package, "unknown"))


def _short(fault: BaseException) -> str:
    return (" ".join(str(fault).split()) or type(fault).__name__)[:160]
