"""A calculator that evaluates nothing but arithmetic.

The expression is parsed, every node is looked up in a table of allowed operations, and whatever is not in
the table is refused: no names, calls, attributes or strings. Numbers are exact fractions, so ``0.1 + 0.2`` is
0.3, and every intermediate result is bounded, so no expression can use up time or memory.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

MAX_LENGTH = 200
"""Characters of an expression; it also bounds the number of operations."""
MAX_BITS = 4096
"""Size of any numerator or denominator on the way."""
MAX_EXPONENT = 1000
DIGITS = 12
"""Significant digits of a result that is not a whole number."""

_SPELLINGS: tuple[tuple[str, str], ...] = (
    (r"[×·]", "*"),
    (r"[÷:]", "/"),
    (r"[−–—]", "-"),
    (r"\^", "**"),
    (r"(?<=\d)[\u00a0\u202f ](?=\d{3}(?!\d))", ""),
    (r"(?<=\d),(?=\d)(?!\d{3}(?!\d))", "."),
    # "15 % of 240" and "15% * 240"; with a number right after it, % stays the remainder.
    (r"(\d+(?:\.\d+)?) ?%(?! ?[\d(.])", r"(\1/100)"),
    (r"\b(?:of|от)\b", "*"),
)
"""How people write arithmetic, and how Python reads it. A comma before three digits stays, and is refused:
``1,500`` may be either number."""
_ALLOWED = re.compile(r"[\d.eE_+\-*/%(),\s]*")
"""Nothing else reaches the parser."""

REASONS: Mapping[str, Mapping[str, str]] = {
    "rule": {
        "en": "only numbers, brackets and + - * / // % ** are allowed",
        "ru": "допустимы только числа, скобки и знаки + - * / // % **",
    },
    "too_long": {
        "en": f"the expression is longer than {MAX_LENGTH} characters",
        "ru": f"выражение длиннее {MAX_LENGTH} знаков",
    },
    "no_arithmetic": {"en": "not an arithmetic expression", "ru": "это не арифметическое выражение"},
    "zero": {"en": "division by zero", "ru": "деление на ноль"},
    "large_on_the_way": {
        "en": "a number on the way is too large",
        "ru": "промежуточный результат слишком велик",
    },
    "large_number": {"en": "a number is too large", "ru": "число слишком велико"},
    "large_exponent": {
        "en": f"exponents are limited to {MAX_EXPONENT}",
        "ru": f"показатель степени больше {MAX_EXPONENT}",
    },
    "large_power": {"en": "a power is too large", "ru": "степень слишком велика"},
    "root": {
        "en": "a root of a negative number is not real",
        "ru": "корень из отрицательного числа не вычисляется",
    },
}
"""Why an expression is refused, by language."""


class ExpressionError(ValueError):
    """The text is not arithmetic this calculator carries out; ``reason`` is one of `REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(REASONS[reason]["en"])
        self.reason = REASONS[reason]


def calculate(expression: str) -> int | float:
    """Return the value of an arithmetic expression.

    Parameters
    ----------
    expression
        Numbers, brackets and ``+ - * / // % **``; also ``×``, ``÷``, ``^``, a decimal comma and ``15%``.

    Raises
    ------
    ExpressionError
        A :class:`ValueError` that says what is not allowed, or that a bound is exceeded.

    Examples
    --------
    >>> calculate("2+2*2")
    6
    >>> calculate("240 * 15%")
    36
    """
    if len(expression) > MAX_LENGTH:
        raise ExpressionError("too_long")
    text = expression.strip()
    for pattern, spelling in _SPELLINGS:
        text = re.sub(pattern, spelling, text)
    if not _ALLOWED.fullmatch(text):
        raise ExpressionError("rule")
    try:
        result = _value(ast.parse(text, mode="eval").body)
        return int(result) if result.denominator == 1 else float(f"{float(result):.{DIGITS}g}")
    except (SyntaxError, RecursionError, MemoryError):
        raise ExpressionError("no_arithmetic") from None
    except ZeroDivisionError:
        raise ExpressionError("zero") from None
    except OverflowError:
        raise ExpressionError("large_on_the_way") from None


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _number(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _bounded(_OPERATIONS[type(node.op)](_value(node.left), _value(node.right)))
    raise ExpressionError("rule")


def _number(value: int | float) -> Fraction:
    """Return a literal as it was written: 0.1 is one tenth, not its nearest binary neighbour."""
    if value in (float("inf"), float("-inf")):
        raise ExpressionError("large_number")
    return _bounded(Fraction(repr(value)) if isinstance(value, float) else Fraction(value))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ExpressionError("large_on_the_way")
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Raise to a power whose size is known before it is computed."""
    if abs(exponent) > MAX_EXPONENT:
        raise ExpressionError("large_exponent")
    if exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) > MAX_BITS:
            raise ExpressionError("large_power")
        return Fraction(base ** int(exponent))
    root = float(base) ** float(exponent)
    if isinstance(root, complex):
        raise ExpressionError("root")
    return _number(root)


_SIGNS: Mapping[type[ast.unaryop], Callable[[Fraction], Fraction]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_OPERATIONS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
