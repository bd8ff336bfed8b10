"""Parts of the warm sandbox that can be looked at from outside of it."""

import asyncio
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_sandbox.warm.inside.messages import LIMITS, Outcome, unpack_outcomes
from gem_sandbox.warm.libraries import group_of
from gem_sandbox.warm.seccomp import MACHINES, call_filter, room_filters
from gem_sandbox.warm.syscalls import ALLOWED, ROOM_ONLY
from gem_sandbox.warm.turns import Turns

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def decide(program, machine, number, *arguments):
    """Interpret the few instructions of BPF that filters are made of."""
    data = {0: number, 4: machine}
    data |= {16 + 8 * index: value for index, value in enumerate(arguments)}
    steps = [program[at : at + 8] for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        code = int.from_bytes(steps[at][:2], "little")
        jump_true, jump_false = steps[at][2], steps[at][3]
        operand = int.from_bytes(steps[at][4:], "little")
        at += 1
        if code == 0x20:
            value = data.get(operand, 0)
        elif code == 0x54:
            value &= operand
        elif code == 0x15:
            at += jump_true if value == operand else jump_false
        elif code == 0x35:
            at += jump_true if value >= operand else jump_false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_allows_what_is_listed_and_nothing_else(machine):
    program, column = call_filter(machine), machine == "aarch64"
    looked_at = {"clone", "clone3", "ioctl", "prctl", "prlimit64", "socketpair", "fcntl"}
    plain = {numbers[column] for name, numbers in ALLOWED.items() if name not in looked_at}
    special = {ALLOWED[name][column] for name in looked_at}
    for number in [*range(1024), 0x40000000, 0x40000001, 0xFFFFFFFF]:
        if number not in special:
            allowed = decide(program, MACHINES[machine], number) == _ALLOW
            assert allowed == (number in plain), number


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_kills_calls_made_as_on_another_processor(machine):
    other = next(number for name, number in MACHINES.items() if name != machine)
    assert decide(call_filter(machine), other, 0) == _KILL
    assert decide(call_filter(machine), 0x40000003, 1) == _KILL


def test_the_filter_looks_at_the_arguments_of_some_calls():
    def allowed(name, *arguments):
        number = ALLOWED[name][0]
        return decide(call_filter("x86_64"), MACHINES["x86_64"], number, *arguments) == _ALLOW

    assert allowed("clone", 0x01200011)
    for new in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert not allowed("clone", new | 17)
    assert not allowed("clone3")
    assert allowed("socketpair", 1, 1 | 0x80000)
    assert not allowed("socketpair", 1, 2)
    assert not allowed("socketpair", 2, 1)
    assert allowed("prlimit64", 0)
    assert not allowed("prlimit64", 1)
    assert allowed("fcntl", 1, 1)
    assert not allowed("fcntl", 1, 8)
    assert allowed("ioctl", 0, 0x5401)
    assert not allowed("ioctl", 0, 0x5412)


@pytest.mark.parametrize("machine", MACHINES)
@given(data=st.data())
def test_the_filters_of_a_room_and_of_its_programs_allow_together_what_the_one_filter_does(
    machine, data
):
    column = machine == "aarch64"
    listed = [numbers[column] for numbers in (ALLOWED | ROOM_ONLY).values()]
    number = data.draw(st.sampled_from([n for n in listed if n is not None]) | st.integers(0, 600))
    call = MACHINES[machine], number, *data.draw(st.lists(st.integers(0, 40), max_size=3))
    room, own = room_filters(machine)
    both = {decide(room, *call), decide(own, *call)} - {_ALLOW}
    assert (both or {_ALLOW}) == {decide(call_filter(machine), *call)}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_only_a_rooms_first_process_may_programs_forbid_themselves(machine):
    room, own = room_filters(machine)
    for numbers in ROOM_ONLY.values():
        number = numbers[machine == "aarch64"]
        assert decide(room, MACHINES[machine], number) == _ALLOW
        assert decide(own, MACHINES[machine], number) == _ERROR | 1


def test_calls_can_be_withheld():
    program = call_filter("x86_64", without=["kill"])
    assert decide(program, MACHINES["x86_64"], ALLOWED["kill"][0]) == _ERROR | 1


@pytest.mark.parametrize(
    ("source", "group"),
    [
        ("print(1)", 0),
        ("import numpy as np", 1),
        ("if x:\n    from numpy.linalg import inv", 1),
        ("import os, sympy", 2),
        ("import numpy\nfrom sympy import *", 2),
        ("import numpyro", 0),
        ("x = 'import'\nnp.ones(1)", 0),
    ],
)
def test_a_program_gets_the_least_zygote_that_has_its_imports(source, group):
    assert group_of(source, ["numpy", "sympy"], supply_names=False) == group


def test_an_alias_that_is_to_be_supplied_counts_as_an_import():
    assert group_of("np.ones(1)", ["numpy", "sympy"], supply_names=True) == 1


outcomes = st.builds(
    Outcome,
    st.integers(0, 255),
    st.sampled_from(LIMITS),
    st.floats(0, 1e6),
    st.integers(0, 1 << 40),
    st.binary(max_size=50),
    st.binary(max_size=50),
)


@given(st.lists(outcomes, max_size=5))
def test_outcomes_come_back_as_they_were_packed(outcomes):
    packed = b"".join(outcome.pack() for outcome in outcomes)
    assert unpack_outcomes(packed) == outcomes


@given(st.lists(outcomes, min_size=1, max_size=3), st.data())
def test_an_answer_that_was_cut_is_no_answer(outcomes, data):
    packed = b"".join(outcome.pack() for outcome in outcomes)
    cut = data.draw(st.integers(1, len(outcomes[-1].pack()) - 1))
    with pytest.raises((ValueError, struct.error)):
        unpack_outcomes(packed[:-cut])


def test_turns_are_taken_in_the_order_of_asking():
    turns, order = Turns(1), []

    async def take(number):
        async with turns.turn_async():
            order.append(number)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(take(number) for number in range(20)))

    asyncio.run(main())
    assert order == list(range(20))


def test_who_gives_up_waiting_does_not_take_a_turn_along():
    turns = Turns(1)

    async def take():
        async with turns.turn_async():
            return True

    async def main():
        with turns.turn():
            waiting = [asyncio.create_task(take()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[1].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert asyncio.run(main())[2] is True
    with turns.turn():
        pass


def test_who_passes_a_turn_on_begins_for_the_one_who_waits():
    turns, events = Turns(1), []

    def take():
        with turns.turn(lambda: events.append(("begun by", threading.current_thread().name))):
            events.append(("had by", threading.current_thread().name))

    with turns.turn(lambda: events.append("had to wait")):
        thread = threading.Thread(target=take, name="waiting")
        thread.start()
        while not turns.are_wanted:
            time.sleep(0.001)
        events.append("passed on")
    thread.join()
    begun = "begun by", threading.current_thread().name
    assert events == ["passed on", begun, ("had by", "waiting")]


def test_nothing_begins_for_who_has_given_up():
    turns, begun = Turns(1), []

    async def take(number):
        async with turns.turn_async(lambda: begun.append(number)):
            pass

    async def main():
        async with turns.turn_async():
            waiting = [asyncio.create_task(take(number)) for number in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(main())
    assert begun == [0, 2]


def test_a_turn_that_is_free_is_taken_only_if_nobody_has_it():
    turns = Turns(2)
    assert [turns.take_free() for _ in range(3)] == [True, True, False]
    turns.give_back()
    assert turns.take_free()


def test_no_more_turns_are_had_at_once_than_there_are():
    turns, now, most = Turns(3), [], []

    def take():
        with turns.turn():
            now.append(1)
            most.append(len(now))
            now.pop()

    threads = [threading.Thread(target=take) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 30
    assert max(most) <= 3
