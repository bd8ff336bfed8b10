"""The assertions of ``unittest`` as expressions: ``assertEqual(a, b)`` means ``a == b``."""

import ast
from collections.abc import Sequence

__all__ = ["asserted"]

_COMPARISONS = {
    **dict.fromkeys(
        ("assertEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual"), ast.Eq
    ),
    **dict.fromkeys(("assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual"), ast.Eq),
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
}
"""The operators of the assertions of ``unittest`` that compare two values."""


def asserted(call: ast.Call) -> ast.expr | None:
    """Return the condition of a call such as ``self.assertEqual(a, b)``; None for others."""
    name, args = call.func.attr, call.args  # type: ignore[attr-defined]
    options = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg != "msg"}
    if name in _COMPARISONS and len(args) in (2, 3) and not options:
        return ast.Compare(args[0], [_COMPARISONS[name]()], [args[1]])
    if name in ("assertTrue", "assertFalse") and len(args) in (1, 2):
        return args[0] if name == "assertTrue" else ast.UnaryOp(ast.Not(), args[0])
    if name in ("assertIsNone", "assertIsNotNone") and len(args) in (1, 2):
        op = ast.Is() if name == "assertIsNone" else ast.IsNot()
        return ast.Compare(args[0], [op], [ast.Constant(None)])
    if name == "assertAlmostEqual" and len(args) in (2, 3):
        return _almost_equal(args, options)
    return None


def _almost_equal(args: Sequence[ast.expr], options: dict[str | None, ast.expr]) -> ast.expr:
    distance = _call("abs", ast.BinOp(args[0], ast.Sub(), args[1]))
    if "delta" in options:
        return ast.Compare(distance, [ast.LtE()], [options["delta"]])
    places = args[2] if len(args) == 3 else options.get("places", ast.Constant(7))
    return ast.Compare(_call("round", distance, places), [ast.Eq()], [ast.Constant(0)])


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
