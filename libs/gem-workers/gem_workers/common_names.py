"""Supply common names that programs use without importing them: models tend to forget imports.

The names become builtins, so a program's own names take precedence. Only names that occur in the
program are supplied.
"""

import builtins
import importlib
import types

__all__ = ["MODULES", "NAMES", "supply"]

_FROM = {
    "itertools": "accumulate chain combinations count permutations product groupby islice repeat "
    "zip_longest cycle pairwise combinations_with_replacement takewhile dropwhile starmap",
    "copy": "deepcopy",
    "string": "ascii_lowercase ascii_uppercase ascii_letters digits",
    "math": "floor log log2 log10 sqrt comb gcd ceil inf isqrt factorial atan2 pi prod",
    "collections": "defaultdict deque Counter OrderedDict namedtuple",
    "bisect": "bisect_left bisect_right insort insort_left insort_right",
    "heapq": "heappush heappop heapify merge nlargest nsmallest heapreplace heappushpop",
    "functools": "reduce cache lru_cache cmp_to_key partial",
    "random": "randrange shuffle randint",
    "operator": "itemgetter sub xor or_ iand",
    "os.path": "commonprefix",
    "fractions": "Fraction",
    "decimal": "Decimal",
    "dataclasses": "dataclass",
    "time": "time",
    "typing": "Any Callable Deque DefaultDict Dict FrozenSet Generator Iterable Iterator List "
    "Mapping NamedTuple Optional Sequence Set Tuple Type TypeVar Union",
}
_RENAMED = {"re_search": ("re", "search")}
_AS_MODULES = tuple(
    """bisect collections copy datetime functools heapq io itertools json math operator os random re
    string sys""".split()  # noqa: SIM905 - it is read, not changed
)
_ALIASES = {"np": "numpy", "pd": "pandas"}

MODULES = sorted({*_FROM, *_AS_MODULES})
"""The modules of the standard library that have the names."""

NAMES: dict[str, tuple[str, str | None]] = {
    **{name: (module, name) for module, names in _FROM.items() for name in names.split()},
    **_RENAMED,
    **{module: (module, None) for module in _AS_MODULES},
    **{alias: (module, None) for alias, module in _ALIASES.items()},
}


def supply(code: types.CodeType) -> None:
    """Make the common names that occur in a compiled program available to it."""
    for name in _names(code) & NAMES.keys():
        if not hasattr(builtins, name):
            module, attribute = NAMES[name]
            try:
                found = importlib.import_module(module)
            except ImportError:
                continue  # the program's NameError is clearer
            setattr(builtins, name, getattr(found, attribute) if attribute else found)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names
