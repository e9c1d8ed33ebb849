# What other rooms may use, once: type checkers read it here, and so does ``__init__.py``.
from .connection import HERE as HERE
from .connection import connected as connected
from .connection import gone as gone
from .connection import require_engine as require_engine
from .mapping import in_order as in_order
