"""``TaskEnv`` owns the options of its rows: subclasses pass them on, and callers still see them."""

import inspect
from typing import Any, Unpack

import pytest

from gem_core import EnvSpec, make
from gem_core.errors import UnknownKwargError
from gem_tasks import Grade, RowOptions, TaskEnv


class Short(TaskEnv):
    def __init__(self, *, tolerance: float = 0.5, **rows: Unpack[RowOptions]) -> None:
        self.tolerance = tolerance
        super().__init__(columns={"problem": str}, **rows)

    def question(self, row):
        return row["problem"]

    def grade(self, action):
        return Grade(0.0, False)

    def solution(self):
        return ""


class Shorter(Short):
    def __init__(self, *, bonus: int, tolerance: float = 0.1, **options: Any) -> None:
        self.bonus = bonus
        super().__init__(tolerance=tolerance, **options)


class Closed(Short):
    def __init__(self, data: Any) -> None:
        super().__init__(data=data, shuffle=False)


DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(TaskEnv.__init__).parameters.items()
    if name not in ("self", "columns")
}
ROWS = [{"problem": "?"}]


def parameters(cls):
    return {name: one.default for name, one in inspect.signature(cls).parameters.items()}


def test_the_typed_options_are_those_of_task_env():
    assert set(RowOptions.__annotations__) == set(DEFAULTS)


def test_a_subclass_has_its_own_options_and_those_of_the_rows():
    assert parameters(Short) == {"tolerance": 0.5, **DEFAULTS}


def test_a_subclass_of_a_subclass_overrides_defaults_and_adds_required_options():
    required = inspect.Parameter.empty
    assert parameters(Shorter) == {"bonus": required, "tolerance": 0.1, **DEFAULTS}
    env = Shorter(bonus=3, data=ROWS, shuffle=False)
    assert (env.bonus, env.tolerance, env.reset()[0]) == (3, 0.1, "?")


def test_a_subclass_that_passes_nothing_on_has_no_other_options():
    assert list(parameters(Closed)) == ["data"]


def test_a_subclass_without_a_constructor_has_its_parents_options():
    class Child(Short):
        pass

    assert parameters(Child) == parameters(Short)


@pytest.mark.parametrize(("cls", "options"), [(Short, {}), (Shorter, {"bonus": 1})])
def test_make_rejects_an_unknown_option_and_suggests_near_names(cls, options):
    spec = EnvSpec(id="acme:Short", entry_point=cls, kwargs={"data": ROWS, **options})
    assert make(spec, shuffle=False).reset()[0] == "?"
    with pytest.raises(UnknownKwargError, match=r"no argument 'shufle'. Did you mean 'shuffle'\?"):
        make(spec, shufle=False)
    with pytest.raises(UnknownKwargError, match="no argument 'columns'"):
        make(spec, columns={})
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        cls(data=ROWS, wrong=1, **options)
