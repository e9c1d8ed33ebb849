"""Figures made visible: pages, plots, the report and the lines of a terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
