"""The adaptive limit of calls in flight, on a clock that jumps instead of running."""

import asyncio
import random
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_agents import AdaptiveLimit
from gem_core.errors import ConfigError

pytestmark = pytest.mark.timeout(60)


class JumpingSelector(selectors.SelectSelector):
    """An event loop whose clock jumps to the next event instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits, and nothing will happen"
        self.now += max(0.0, timeout)
        return super().select(0)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    selector = JumpingSelector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    try:
        return loop.run_until_complete(asyncio.wait_for(work, 10**9))
    finally:
        loop.close()


class Endpoint:
    """Answers after ``latency`` seconds; refuses calls above ``capacity`` immediately.

    Args:
        capacity: Calls at once that it bears; None for any number.
        latency: Seconds of a call.
        slows: With more calls than capacity, take longer instead of refusing.
    """

    def __init__(
        self, capacity: int | None = None, latency: float = 1.0, *, slows: bool = False
    ) -> None:
        self.capacity, self.latency, self.slows = capacity, latency, slows
        self.now = self.most = self.refused = self.answered = 0

    async def call(self, limit: AdaptiveLimit, retry_after: float | None = None) -> None:
        async with limit.slot() as slot:
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                crowd = 1.0 if self.capacity is None else self.now / self.capacity
                if crowd > 1 and not self.slows:
                    self.refused += 1
                    slot.overloaded(retry_after=retry_after)
                    await asyncio.sleep(0.01)
                    return
                await asyncio.sleep(self.latency * max(1.0, crowd**3))
                self.answered += 1
            finally:
                self.now -= 1


async def many(endpoint: Endpoint, limit: AdaptiveLimit, calls: int, workers: int = 300) -> None:
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await endpoint.call(limit)

    await asyncio.gather(*(work() for _ in range(workers)))


class TestTheLimit:
    @pytest.mark.slow
    def test_the_limit_grows_to_its_maximum_while_nothing_is_wrong(self) -> None:
        endpoint, limit = Endpoint(), AdaptiveLimit(4, maximum=256)
        run(many(endpoint, limit, 3000))
        assert limit.limit == endpoint.most == 256

    def test_the_limit_does_not_grow_while_it_is_not_used(self) -> None:
        limit = AdaptiveLimit(8, maximum=256)
        run(many(Endpoint(), limit, 500, workers=3))
        assert limit.limit == 8

    @pytest.mark.slow
    def test_the_limit_stays_near_the_capacity(self) -> None:
        endpoint, limit = Endpoint(capacity=50), AdaptiveLimit(4, maximum=2048)
        run(many(endpoint, limit, 5000))
        assert 30 <= limit.limit <= 60
        assert endpoint.answered > 0.9 * 5000
        assert limit.overloads == endpoint.refused

    @pytest.mark.slow
    def test_the_limit_falls_when_latency_rises_without_any_refusal(self) -> None:
        endpoint = Endpoint(capacity=20, slows=True)
        limit = AdaptiveLimit(4, maximum=2048)
        run(many(endpoint, limit, 20_000 if thorough() else 8_000))
        # At four times its best latency the endpoint has 1.59 times the calls that it bears.
        assert limit.limit <= 60

    @pytest.mark.slow
    def test_the_limit_can_ignore_latency(self) -> None:
        limit = AdaptiveLimit(4, maximum=64, latency_factor=None)
        run(many(Endpoint(capacity=20, slows=True), limit, 5000))
        assert (limit.limit, limit.overloads) == (64, 0)

    @pytest.mark.slow
    def test_the_limit_recovers_when_the_answers_have_become_longer(self) -> None:
        endpoint, limit = Endpoint(), AdaptiveLimit(4, maximum=64)

        async def main() -> None:
            await many(endpoint, limit, 2000)
            endpoint.latency = 10.0
            await many(endpoint, limit, 8000)

        run(main())
        assert limit.overloads >= 1
        assert limit.limit == 64

    @pytest.mark.slow
    def test_a_few_slow_calls_do_not_change_the_limit(self) -> None:
        limit = AdaptiveLimit(4, maximum=64)
        chance = random.Random(1)

        async def call() -> None:
            async with limit.slot():
                await asyncio.sleep(50.0 if chance.random() < 0.05 else 1.0)

        async def main() -> None:
            await asyncio.gather(*(call() for _ in range(5000)))

        run(main())
        assert (limit.limit, limit.overloads) == (64, 0)

    def test_calls_that_are_refused_together_cut_the_limit_once(self) -> None:
        limit = AdaptiveLimit(100, decrease=0.5)

        async def call() -> None:
            async with limit.slot() as slot:
                await asyncio.sleep(1)
                slot.overloaded()

        async def main() -> None:
            await asyncio.gather(*(call() for _ in range(100)))

        run(main())
        assert (limit.limit, limit.overloads) == (50, 100)

    def test_the_limit_never_falls_below_its_minimum(self) -> None:
        limit = AdaptiveLimit(8, minimum=3)

        async def main() -> None:
            for _ in range(50):
                await asyncio.sleep(1)
                async with limit.slot() as slot:
                    slot.overloaded()

        run(main())
        assert limit.limit == 3

    def test_a_call_that_raises_does_not_change_the_limit(self) -> None:
        limit = AdaptiveLimit(8)

        async def main() -> None:
            for _ in range(50):
                with pytest.raises(ValueError, match="bad"):
                    async with limit.slot():
                        raise ValueError("bad")

        run(main())
        assert (limit.limit, limit.in_flight, limit.overloads) == (8, 0, 0)

    @pytest.mark.parametrize(
        "options",
        [
            {"initial": 0},
            {"minimum": 0},
            {"initial": 9, "maximum": 8},
            {"increase": 0},
            {"decrease": 1.0},
            {"decrease": 0.0},
            {"latency_factor": 1.0},
        ],
    )
    def test_an_impossible_limit_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="got"):
            AdaptiveLimit(**options)


class TestCallers:
    @pytest.mark.slow
    @settings(max_examples=60 if thorough() else 20)
    @given(data=st.data(), initial=st.integers(1, 5), seed=st.integers(0, 10**6))
    def test_callers_never_exceed_the_limit_and_leave_nothing_behind(
        self, data: st.DataObject, initial: int, seed: int
    ) -> None:
        limit = AdaptiveLimit(initial, maximum=6)
        chance = random.Random(seed)
        inside = 0

        async def call() -> None:
            nonlocal inside
            async with limit.slot() as slot:
                inside += 1
                assert inside <= 6
                try:
                    await asyncio.sleep(chance.random())
                    if chance.random() < 0.2:
                        slot.overloaded(retry_after=chance.choice([None, 0.5]))
                    if chance.random() < 0.1:
                        raise ValueError("bad")
                finally:
                    inside -= 1

        async def main() -> None:
            tasks = [asyncio.create_task(call()) for _ in range(30)]
            for task in tasks:
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.random() / 4)
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert (limit.in_flight, limit.waiting, inside) == (0, 0, 0)

        run(main())

    def test_callers_are_served_in_their_order(self) -> None:
        limit, order = AdaptiveLimit(2, maximum=2), list[int]()

        async def call(number: int) -> None:
            async with limit.slot():
                order.append(number)
                await asyncio.sleep(1)

        async def main() -> None:
            await asyncio.gather(*(call(number) for number in range(20)))

        run(main())
        assert order == list(range(20))

    def test_a_caller_that_is_cancelled_as_it_is_admitted_passes_its_place_on(self) -> None:
        limit = AdaptiveLimit(1, maximum=1)

        async def hold(entered: asyncio.Event, leave: asyncio.Event) -> None:
            async with limit.slot():
                entered.set()
                await leave.wait()

        async def main() -> None:
            entered, leave = asyncio.Event(), asyncio.Event()
            first = asyncio.create_task(hold(entered, leave))
            await entered.wait()
            second = asyncio.create_task(hold(asyncio.Event(), asyncio.Event()))
            third_in = asyncio.Event()
            third = asyncio.create_task(hold(third_in, leave))
            await asyncio.sleep(0)
            assert limit.waiting == 2
            leave.set()
            await first  # the second is admitted, but has not run
            second.cancel()
            await third_in.wait()
            await third
            assert (limit.in_flight, limit.waiting) == (0, 0)

        run(main())

    def test_callers_wait_as_long_as_the_endpoint_requested(self) -> None:
        limit = AdaptiveLimit(4)

        async def main() -> None:
            loop = asyncio.get_running_loop()
            async with limit.slot() as slot:
                slot.overloaded(retry_after=30.0)
                slot.overloaded(retry_after=7.0)
            started = loop.time()
            async with limit.slot() as slot:
                assert slot.waited == pytest.approx(loop.time() - started) == pytest.approx(30)

        run(main())

    def test_callers_in_another_loop_wait_for_the_same_pause(self) -> None:
        limit = AdaptiveLimit(4)

        async def overload() -> None:
            async with limit.slot() as slot:
                slot.overloaded(retry_after=5.0)
            waiting = asyncio.create_task(enter())
            await asyncio.sleep(0)
            waiting.cancel()

        async def enter() -> float:
            async with limit.slot() as slot:
                return slot.waited

        run(overload())
        assert run(enter()) == pytest.approx(5.0)
