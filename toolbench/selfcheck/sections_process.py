"""A program that does some sections of a selfcheck: ``ROOT EVERY_CASE NAME…``; they go to standard output."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from toolbench.selfcheck.contents import Contents

if __name__ == "__main__":
    contents = Contents.of(Path(sys.argv[1]), every_case=sys.argv[2] == "True")
    sections = {name: contents.sections[name]() for name in sys.argv[3:]}
    pickle.dump(sections, sys.stdout.buffer)
