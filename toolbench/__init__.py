"""toolbench compares how language models call tools.

The names a notebook needs, loaded when they are first used; ``__init__.pyi`` lists them::

    import toolbench
    frame = toolbench.load("runs/demo")      # one row an attempt
    toolbench.metrics(frame)                 # every figure, with its denominator and interval
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
