# What other rooms may use, once: type checkers read it here, and so does ``__init__.py``.
from . import normalizers as normalizers
from . import score as score
from .counts import COUNT as COUNT
from .counts import CountName as CountName
from .guard import Judged as Judged
from .guard import judge as judge
from .normalizers import identical as identical
from .normalizers import normalized as normalized
from .normalizers import plain as plain
from .order import is_empty as is_empty
from .order import values_at as values_at
from .score import Verdict as Verdict
from .text import NUMBER as NUMBER
from .text import contains as contains
from .text import normalize as normalize
from .text import numbers_in as numbers_in
from .trace import Finding as Finding
