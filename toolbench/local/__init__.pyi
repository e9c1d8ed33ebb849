# What other rooms may use, once: type checkers read it here, and so does ``__init__.py``.
from .llama_server import LocalServer as LocalServer
from .llama_server import serve_forever as serve_forever
from .load_times import loading as loading
from .weights import ensure as ensure
from .weights import known_models as known_models
from .weights import resolve as resolve
