"""Proof that the judge finds what is wrong and passes what is right, and that the wires agree."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
