# What other rooms may use, once: type checkers read it here, and so does ``__init__.py``.
from . import corpus as corpus
from .contents import selfcheck as selfcheck
