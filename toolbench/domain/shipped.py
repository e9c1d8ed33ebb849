"""Where the files that come with toolbench lie: suites, notebooks, the example configuration.

They are top-level folders of the repository, to be read and edited; an installed package carries a copy.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def shipped() -> Path:
    """Return the folder that holds ``contracts``, ``cases``, ``notebooks`` and the two ``*.example.json``."""
    package = Path(str(resources.files("toolbench")))
    installed = package / "_shipped"
    return installed if installed.is_dir() else package.parent
