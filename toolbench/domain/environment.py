"""What the files of a run say about where they were made: versions and time."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata

PACKAGE = "toolcall-workbench"


def package_version() -> str:
    """Return the installed version, ``unknown`` in a tree that was never installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "unknown"


def versions() -> dict[str, str]:
    """Return package → version of what can change a result."""
    found = {"python": platform.python_version(), "toolbench": package_version()}
    for name in ("httpx", "jsonschema", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def now() -> str:
    """Return the current time in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
