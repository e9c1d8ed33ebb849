"""The way to the machines of a dask cluster: connecting, refusing what does not fit, naming what is lost."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
