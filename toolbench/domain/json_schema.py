"""``jsonschema``, imported without the second it takes to build a grammar that hardly any schema asks for.

The library builds its grammar of international addresses (the formats ``iri`` and ``iri-reference``) when it
is imported. Here that happens when such a format is first checked.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

GRAMMAR = "rfc3987_syntax"


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(import_module(GRAMMAR).is_valid_syntax(term, value))


_put_off = GRAMMAR not in sys.modules
if _put_off:
    sys.modules[GRAMMAR] = ModuleType(GRAMMAR)
    sys.modules[GRAMMAR].__dict__["is_valid_syntax"] = _is_valid_syntax
try:
    from jsonschema import Draft202012Validator as Draft202012Validator
    from jsonschema.exceptions import SchemaError as SchemaError
    from jsonschema.exceptions import ValidationError as ValidationError
    from jsonschema.exceptions import best_match as best_match
    from jsonschema.validators import extend as extend
finally:
    if _put_off:
        del sys.modules[GRAMMAR]
