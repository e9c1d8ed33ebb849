"""From an attempt and its suite to a verdict: findings, flags and counts. Needs no network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
