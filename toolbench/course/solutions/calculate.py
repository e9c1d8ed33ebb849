import ast
import operator

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
LARGEST = 1e15
ALLOWED = "only numbers, brackets and + - * / ** are allowed, for example 240 * 15 / 100"


def calculate(expression: str) -> float:
    """Evaluate an arithmetic expression and return its value. Use it for every calculation.

    Parameters
    ----------
    expression
        Numbers, brackets and + - * / **, for example 240 * 15 / 100.
    """
    try:
        return value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{error}; {ALLOWED}") from None


def value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        result = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        result = -value(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        left, right = value(node.left), value(node.right)
        if isinstance(node.op, ast.Pow) and (abs(right) > 100 or abs(left) > 1000):
            raise ValueError("powers are limited: base up to 1000, exponent up to 100")
        result = OPERATIONS[type(node.op)](left, right)
    else:
        raise ValueError(ALLOWED)
    if isinstance(result, complex) or abs(result) > LARGEST:
        raise ValueError(f"numbers are limited to {LARGEST:g}")
    return result
