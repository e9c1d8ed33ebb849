"""``python -m toolbench`` is the command ``toolbench``."""

import os
import sys

# ``python -m`` puts the working folder first on the path: a stranger's pandas.py there would be imported.
sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]

from toolbench.cli import main  # noqa: E402 - the path had to be mended first

if __name__ == "__main__":
    main()
