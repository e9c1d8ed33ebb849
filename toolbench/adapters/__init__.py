"""Adapters by wire protocol. Provider facts live here and in the data files beside, and nowhere else."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
