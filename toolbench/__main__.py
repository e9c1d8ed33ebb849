"""``python -m toolbench`` is the command ``toolbench``."""

from toolbench.cli import main

if __name__ == "__main__":
    main()
