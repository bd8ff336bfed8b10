"""Python functions and objects as tools: schemas, accepted arguments, results."""

import asyncio
import dataclasses
import datetime as dt
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hydra import compose, initialize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import Tool, ToolCall, ToolResult, ToolSpec
from gem_core.config import build
from gem_core.errors import ConfigError
from gem_core.plugins import load_plugins
from gem_core.testing import check_tool
from gem_tasks import ToolSet, as_tool
from gem_tasks.function_tool import FunctionTool

EXAMPLES = 100 if thorough() else 25


@as_tool
def forecast(city: str, days: Annotated[int, pydantic.Field(ge=1, le=7)] = 3) -> str:
    """Says how the weather will be.

    It knows every city.

    Args:
        city (str): Where,
            in English.
        days: How far ahead; at most a week.

    Returns:
        One line a day.

    Raises:
        LookupError: Unknown.
    """
    if city == "Atlantis":
        raise LookupError("no such city")
    return "\n".join(["rain"] * days)


@as_tool
def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()


@as_tool(name="now", in_order=True)
async def clock() -> dt.date:
    """Tells the date."""
    await asyncio.sleep(0)
    return dt.date(2020, 2, 29)


class Point(pydantic.BaseModel):
    x: int
    y: int = 0


class Shop:
    """Sells."""

    def __init__(self) -> None:
        self.sold: list[str] = []

    def buy(self, what: Literal["egg", "milk"], count: int = 1) -> list[str]:
        """Buys something.

        Args:
            what: The thing.
        """
        self.sold += [what] * count
        return self.sold

    async def open(self) -> bool:
        """Tells whether the shop is open."""
        return True

    @staticmethod
    def price(what: str) -> float:
        """Tells a price."""
        return {"egg": 0.5}[what]

    def _secret(self) -> None: ...

    @property
    def owner(self) -> str:
        return "Ann"


def run(tool: Any, function: str = "", /, **arguments: Any) -> ToolResult:
    result: Any = tool.run(ToolCall(tool.name, arguments, "", function))
    if isinstance(result, ToolResult):
        return result

    async def wait() -> ToolResult:
        awaited: ToolResult = await result
        return awaited

    return asyncio.run(wait())


class TestDescription:
    def test_the_schema_comes_from_signature_and_docstring(self) -> None:
        (function,) = forecast.functions()
        assert function.name == "forecast"
        assert function.description == "Says how the weather will be.\n\nIt knows every city."
        assert function.parameters == {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where, in English."},
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 7,
                    "default": 3,
                    "description": "How far ahead; at most a week.",
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        }

    def test_parameters_may_have_any_type_that_pydantic_knows(self) -> None:
        @as_tool
        def plot(points: list[Point], json: dict[str, float] | None = None) -> int:
            """Plots."""
            return sum(point.x for point in points)

        parameters = plot.functions()[0].parameters
        assert parameters["properties"]["points"]["items"] == {"$ref": "#/$defs/Point"}
        assert "title" not in str(parameters)
        assert run(plot, points=[{"x": 1}, {"x": 2}]).output == "3"

    def test_a_return_type_may_exist_for_type_checkers_only(self) -> None:
        assert list(as_tool(_unknown_result).functions()[0].parameters["properties"]) == ["x"]

    def test_a_parameter_called_title_keeps_its_name(self) -> None:
        @as_tool
        def find(title: str, pages: int = 0) -> str:
            """Finds."""
            return title

        assert set(find.functions()[0].parameters["properties"]) == {"title", "pages"}

    def test_a_decorated_function_can_still_be_called(self) -> None:
        assert shout("hi") == "HI"
        assert forecast("Rome", days=1) == "rain"

    def test_an_object_offers_its_public_methods(self) -> None:
        assert [one.name for one in ToolSet(Shop).functions()] == ["buy", "open", "price"]
        assert ToolSet(Shop).name == "shop"
        assert list(ToolSet(Shop()).functions()[0].parameters["properties"]) == ["what", "count"]

    @pytest.mark.parametrize("make", [lambda: forecast, lambda: clock, lambda: ToolSet(Shop)])
    def test_tools_made_of_functions_follow_the_protocol(self, make: Any) -> None:
        assert isinstance(make(), Tool)

    @pytest.mark.parametrize(
        ("make", "match"),
        [
            (lambda: as_tool(lambda x: x), "needs a docstring"),
            (lambda: as_tool(_no_types), "'x' has no annotation"),
            (lambda: as_tool(_variadic), "cannot be passed by name"),
            (lambda: as_tool(_unknown_type).functions(), "Nowhere"),
            (lambda: ToolSet(object()), "no public methods"),
            (lambda: ToolSet([]), "docstring|annotation|by name"),
        ],
    )
    def test_functions_that_cannot_be_described_are_refused(self, make: Any, match: str) -> None:
        with pytest.raises(ConfigError, match=match):
            make()


def _no_types(x):
    """Has no types."""


def _variadic(*xs: int):
    """Takes many."""


def _unknown_type(x: "Nowhere"):  # noqa: F821
    """Names what is not there."""


def _unknown_result(x: "int") -> "Nowhere":  # noqa: F821
    """Returns what is not there."""


class TestRuns:
    def test_the_result_of_a_function_is_shown(self) -> None:
        @dataclasses.dataclass
        class Pair:
            a: int
            when: dt.date

        @as_tool
        def give(what: int) -> Any:
            """Gives."""
            pair = Pair(1, dt.date(2020, 2, 29))
            return ["text", 7, None, [1, "a"], pair, Point(x=1), ToolResult("no", ok=False)][what]

        outputs = [run(give, what=index) for index in range(7)]
        assert [result.output for result in outputs] == [
            "text",
            "7",
            "null",
            '[1,"a"]',
            '{"a":1,"when":"2020-02-29"}',
            '{"x":1,"y":0}',
            "no",
        ]
        assert [result.ok for result in outputs] == [True] * 6 + [False]

    def test_an_exception_of_a_function_is_a_failure(self) -> None:
        result = run(forecast, city="Atlantis")
        assert not result.ok
        assert result.output == "forecast failed: LookupError: no such city"
        assert result.info["error"]["boundary"] == "tool"

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ({}, "city: Field required"),
            ({"city": "Rome", "days": 8}, "days: Input should be less than or equal to 7"),
            ({"city": "Rome", "day": 8}, "day: Extra inputs are not permitted"),
            ({"city": None}, "city: Input should be a valid string"),
        ],
    )
    def test_arguments_that_do_not_fit_are_explained(
        self, arguments: dict[str, Any], told: str
    ) -> None:
        result = run(forecast, **arguments)
        assert not result.ok
        assert told in result.output
        assert "forecast(city: string, days: integer = 3)" in result.output

    def test_a_coroutine_function_is_awaited(self) -> None:
        assert run(clock).output == '"2020-02-29"'

    def test_a_blocking_function_gets_a_thread_where_the_environment_is_asynchronous(self) -> None:
        @as_tool(blocking=True)
        def where() -> int:
            """Tells its thread."""
            return threading.get_ident()

        async def both() -> tuple[str, str]:
            call = ToolCall("where", {}, "")
            return where.run(call).output, (await where.arun(call)).output

        inline, aside = asyncio.run(both())
        assert inline == str(threading.get_ident()) != aside

    # The first draw is slow.
    @pytest.mark.slow
    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
    @given(st.dictionaries(st.sampled_from(["city", "days", "x"]), st.integers() | st.text()))
    def test_no_arguments_make_a_tool_raise(self, arguments: dict[str, Any]) -> None:
        fits = (
            isinstance(arguments.get("city"), str)
            and isinstance(arguments.get("days", 1), int)
            and 1 <= arguments.get("days", 1) <= 7
            and "x" not in arguments
        )
        result = run(forecast, **arguments)
        assert result.ok or not fits or arguments["city"] == "Atlantis"


class TestTags:
    def test_arguments_are_json_between_tags(self) -> None:
        call = forecast.parse('Hm. <forecast>{"city": "Rome", "days": 1}</forecast> So')
        assert call == ToolCall(
            "forecast",
            {"city": "Rome", "days": 1},
            'Hm. <forecast>{"city": "Rome", "days": 1}</forecast>',
        )

    def test_a_single_text_parameter_is_the_text_between_tags(self) -> None:
        call = shout.parse("<shout> {hi} </shout>")
        assert call is not None
        assert call.arguments == {"text": "{hi}"}

    def test_a_function_without_parameters_is_called_by_empty_tags(self) -> None:
        call = clock.parse("<now></now>")
        assert call is not None
        assert call.arguments == {}

    def test_a_text_argument_may_hold_the_closing_tag(self) -> None:
        action = '<forecast>{"city": "</forecast>"}</forecast>'
        call = forecast.parse(action)
        assert call is not None
        assert (call.arguments, call.text) == ({"city": "</forecast>"}, action)

    @pytest.mark.parametrize("body", ["Rome", '{"city": "Rome"', '{"city": "Rome"} {}', "[1]"])
    def test_a_call_that_cannot_be_read_has_failed(self, body: str) -> None:
        call = forecast.parse(f"<forecast>{body}</forecast>")
        assert call is not None
        result = forecast.run(call)
        assert not result.ok
        assert "JSON" in result.output

    def test_of_several_functions_the_call_that_ends_first_counts(self) -> None:
        shop = ToolSet(Shop)
        call = shop.parse('<price>egg</price> <buy>{"what": "egg"}</buy>')
        assert call is not None
        assert (call.tool, call.function, shop.run(call).output) == ("shop", "price", "0.5")

    def test_the_instructions_name_every_function(self) -> None:
        text = ToolSet(Shop).instructions()
        assert "<buy>" in text
        assert "<price>what</price>: Tells a price." in text

    @settings(max_examples=EXAMPLES)
    @given(st.text() | st.text("<>/forecast{}\":'"))
    def test_no_text_makes_the_parser_of_calls_raise(self, text: str) -> None:
        for action in (text, f"<forecast>{text}</forecast>"):
            call = forecast.parse(action)
            assert call is None or isinstance(forecast.run(call), ToolResult)
            shout.parse(action)


class TestObjects:
    def test_a_class_gives_every_episode_a_new_object(self) -> None:
        env = gem_core.make("game:GuessTheNumber-v0-easy", tools=[ToolSet(Shop)])
        for _ in range(2):
            env.reset(seed=1)
            step = env.step('<buy>{"what": "egg", "count": 2}</buy>')
            assert step.observation == '["egg","egg"]'

    def test_an_object_lives_on_between_episodes_and_every_environment_has_a_copy(self) -> None:
        shop = Shop()
        make = gem_core.factory.make_factory("game:GuessTheNumber-v0-easy", tools=[ToolSet(shop)])
        env, other = make(), make()
        for expected in ('["milk"]', '["milk","milk"]'):
            env.reset(seed=1)
            assert env.step('<buy>{"what": "milk"}</buy>').observation == expected
        fork = env.fork()
        assert fork.step('<buy>{"what": "egg"}</buy>').observation == '["milk","milk","egg"]'
        assert env.step('<buy>{"what": "egg"}</buy>').observation == '["milk","milk","egg"]'
        other.reset()
        assert other.step('<buy>{"what": "egg"}</buy>').observation == '["egg"]'
        assert shop.sold == []

    def test_methods_of_every_kind_run(self) -> None:
        shop = ToolSet(Shop)
        assert run(shop, "open").output == "true"
        assert run(shop, "price", what="egg").output == "0.5"
        assert run(shop, "price", what="x").output == "price failed: KeyError: 'x'"
        assert "'egg' or 'milk'" in run(shop, "buy", what="x").output


class TestInMake:
    @pytest.mark.slow
    def test_a_decorated_function_is_a_tool(self) -> None:
        env = gem_core.make(
            "game:GuessTheNumber-v0-easy",
            tools=[shout, FunctionTool(max_of), ToolSet(Shop)],
            tool_use={"call_format": "hermes"},
        )
        assert '"name": "max_of"' in env.reset(seed=1)[0]
        call = '<tool_call>{"name": "max_of", "arguments": {"numbers": [1, 3, 2]}}</tool_call>'
        assert env.step(call).info["tool_calls"][0]["output"] == "3"

    def test_a_function_that_makes_a_tool_still_does(self) -> None:
        env = gem_core.make("game:GuessTheNumber-v0-easy", tools=[lambda: shout])
        env.reset(seed=1)
        assert env.step("<shout>a</shout>").observation == "A"

    @pytest.mark.parametrize("part", [lambda: "no tool", lambda: max_of])
    def test_a_function_that_makes_no_tool_gets_a_hint(self, part: Any) -> None:
        with pytest.raises(ConfigError, match=r"not a tool.*as_tool"):
            gem_core.make("game:GuessTheNumber-v0-easy", tools=[part])

    def test_a_plain_function_with_parameters_gets_a_hint(self) -> None:
        with pytest.raises(ConfigError, match=r"cannot be called without numbers.*as_tool"):
            gem_core.make("game:GuessTheNumber-v0-easy", tools=[max_of])


def max_of(numbers: list[int]) -> int:
    """Finds the largest."""
    return max(numbers)


class TestConformance:
    @pytest.mark.parametrize(
        ("tool", "calls"),
        [
            (lambda: forecast, ['<forecast>{"city": "Rome"}</forecast>']),
            (lambda: shout, ["<shout>hi</shout>"]),
            (lambda: clock, ["<now></now>"]),
            (lambda: ToolSet(Shop), ["<price>egg</price>", '<buy>{"what": "egg"}</buy>']),
        ],
    )
    def test_tools_made_of_functions_keep_the_contract(self, tool: Any, calls: list[str]) -> None:
        check_tool(tool, calls=calls).raise_for_findings()

    @pytest.mark.parametrize(
        ("functions", "match"),
        [
            ([gem_core.Function("shout it", "S.", {"type": "object"})], "not a name"),
            ([gem_core.Function("shout", "", {"type": "object"})], "say what it does"),
            ([gem_core.Function("shout", "S.", {"type": "string"})], "JSON object"),
            ([gem_core.Function("shout", "S.", {"type": "object", "required": 7})], "7 is not"),
            ([gem_core.Function("shout", "S.", {"type": "object", "const": {1}})], "serializable"),
            (
                [gem_core.Function("shout", "S.", {"type": "object", "required": ["loud"]})],
                "'loud' is a required",
            ),
        ],
    )
    def test_faulty_functions_are_found(self, functions: Any, match: str) -> None:
        class Faulty(FunctionTool):
            def functions(self) -> Any:
                return functions

        report = check_tool(lambda: Faulty(shout.function), calls=["<shout>a</shout>"])
        (finding,) = report.findings
        assert finding.check == "functions"
        assert match in finding.message


REVERSE = '''
from gem_tasks import as_tool

@as_tool
def reverse(text: str) -> str:
    """Reverses a text."""
    return text[::-1]
'''


class TestRegistered:
    @pytest.mark.slow
    def test_a_decorated_function_has_an_id(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "acme_tools.py").write_text(REVERSE)
        monkeypatch.syspath_prepend(tmp_path)
        registry = load_plugins().registry
        specs = {kind: dict(specs) for kind, specs in registry._specs.items()}
        monkeypatch.setattr(registry, "_specs", specs)
        registry.add(ToolSpec(id="acme:reverse", entry_point="acme_tools:reverse"))
        assert gem_core.make_tool("acme:reverse") is not gem_core.make_tool("acme:reverse")
        game = "game:GuessTheNumber-v0-easy"
        with initialize(config_path=None, version_base=None):
            config = compose(
                overrides=["+env=game/GuessTheNumber-v0-easy", "+tools=[acme/reverse]"]
            )
        for env in (gem_core.make(game, tools=["acme:reverse"]), build(config)):
            env.reset(seed=1)
            assert env.step("<reverse>abc</reverse>").observation == "cba"
        with pytest.raises(
            TypeError, match=r"tool 'acme:reverse' takes no argument 'topk'\. It takes: none\."
        ):
            gem_core.make(game, tools=[{"id": "acme:reverse", "topk": 3}])

    def test_an_object_is_an_entry_point_too(self) -> None:
        spec = ToolSpec(id="acme:shop", entry_point=ToolSet(Shop()))  # type: ignore[arg-type]
        assert run(spec.make(), "open").output == "true"
