"""What things are: contract, case, suite, configuration, decision, record, log, rules, keys."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
