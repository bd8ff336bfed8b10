"""Parts of the warm sandbox that can be tested without running a program."""

import asyncio
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from commands import Command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_sandbox.fair_semaphore import FairSemaphore
from gem_sandbox.warm.guest.messages import LIMITS, Outcome, unpack_outcomes
from gem_sandbox.warm.guest.supervisor import _Scope
from gem_sandbox.warm.libraries import zygote_for
from gem_sandbox.warm.seccomp import MACHINES, call_filter, scope_filters
from gem_sandbox.warm.syscalls import ALLOWED, INIT_ONLY

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
some_examples = settings(
    max_examples=200 if thorough() else 25,
    suppress_health_check=[HealthCheck.too_slow],  # of a loaded machine
)


def decide(program, machine, number, *arguments):
    """Interpret the few BPF instructions that filters use."""
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


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_allows_what_is_listed_and_nothing_else(machine):
    program, column = call_filter(machine), machine == "aarch64"
    looked_at = {"clone", "clone3", "ioctl", "prctl", "prlimit64", "socketpair", "fcntl", "flock"}
    plain = {numbers[column] for name, numbers in ALLOWED.items() if name not in looked_at}
    special = {ALLOWED[name][column] for name in looked_at}
    for number in [*range(1024), 0x40000000, 0x40000001, 0xFFFFFFFF]:
        if number not in special:
            allowed = decide(program, MACHINES[machine], number) == _ALLOW
            assert allowed == (number in plain), number


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_kills_calls_of_another_processor(machine):
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
    assert not allowed("clone", 0x01200000 | 18)  # SIGCONT at its end
    assert allowed("clone", 0x3D0F00)  # a thread
    assert allowed("fcntl", 1, 1)
    for setting in (8, 10, 15, 1024, 1026, 1031, 1036, 1038):
        assert not allowed("fcntl", 1, setting)
    assert allowed("ioctl", 0, 0x5401)
    assert not allowed("ioctl", 0, 0x5412)


def test_only_programs_that_share_no_files_may_lock_them():
    number, fcntl = ALLOWED["flock"][0], ALLOWED["fcntl"][0]
    for locks in (False, True):
        program = call_filter("x86_64", locks=locks)
        for call, *arguments in ((number, 3, 2), *((fcntl, 3, lock) for lock in (5, 6, 7, 37, 38))):
            allowed = decide(program, MACHINES["x86_64"], call, *arguments) == _ALLOW
            assert allowed == locks


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@some_examples
@given(data=st.data())
def test_the_filters_of_a_scope_and_of_its_programs_together_equal_the_one_filter(machine, data):
    column = machine == "aarch64"
    listed = [numbers[column] for numbers in (ALLOWED | INIT_ONLY).values()]
    number = data.draw(st.sampled_from([n for n in listed if n is not None]) | st.integers(0, 600))
    call = MACHINES[machine], number, *data.draw(st.lists(st.integers(0, 40), max_size=3))
    scope, own = scope_filters(machine)
    both = {decide(scope, *call), decide(own, *call)} - {_ALLOW}
    assert (both or {_ALLOW}) == {decide(call_filter(machine), *call)}


@pytest.mark.parametrize("machine", MACHINES)
def test_programs_may_not_make_the_calls_of_the_init_process(machine):
    scope, own = scope_filters(machine)
    for numbers in INIT_ONLY.values():
        number = numbers[machine == "aarch64"]
        assert decide(scope, MACHINES[machine], number) == _ALLOW
        assert decide(own, MACHINES[machine], number) == _ERROR | 1


def test_calls_of_the_list_can_be_forbidden():
    program = call_filter("x86_64", without=["kill"])
    assert decide(program, MACHINES["x86_64"], ALLOWED["kill"][0]) == _ERROR | 1


@pytest.mark.parametrize(
    ("source", "zygote"),
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
def test_a_program_gets_the_smallest_zygote_that_has_its_imports(source, zygote):
    assert zygote_for(source, ["numpy", "sympy"], supply_names=False) == zygote


def test_an_alias_that_is_supplied_counts_as_an_import():
    assert zygote_for("np.ones(1)", ["numpy", "sympy"], supply_names=True) == 1


outcomes = st.builds(
    Outcome,
    st.integers(0, 255),
    st.sampled_from(LIMITS),
    st.floats(0, 1e6),
    st.floats(-1, 1e6),
    st.integers(0, 1 << 40),
    st.binary(max_size=50),
    st.binary(max_size=50),
)


@pytest.mark.slow
@some_examples
@given(st.lists(outcomes, max_size=5))
def test_outcomes_survive_packing(outcomes):
    packed = b"".join(outcome.pack() for outcome in outcomes)
    assert unpack_outcomes(packed) == outcomes


@pytest.mark.slow
@some_examples
@given(st.lists(outcomes, min_size=1, max_size=3), st.data())
def test_a_truncated_answer_is_an_error(outcomes, data):
    packed = b"".join(outcome.pack() for outcome in outcomes)
    cut = data.draw(st.integers(1, len(outcomes[-1].pack()) - 1))
    with pytest.raises((ValueError, struct.error)):
        unpack_outcomes(packed[:-cut])


def test_slots_are_acquired_in_the_order_of_asking():
    semaphore, order = FairSemaphore(1), []

    async def take(number):
        async with semaphore.acquire_async():
            order.append(number)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(take(number) for number in range(20)))

    asyncio.run(main())
    assert order == list(range(20))


def test_a_waiter_that_gives_up_takes_no_slot():
    semaphore = FairSemaphore(1)

    async def take():
        async with semaphore.acquire_async():
            return True

    async def main():
        with semaphore.acquire():
            waiting = [asyncio.create_task(take()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[1].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert asyncio.run(main())[2] is True
    with semaphore.acquire():
        pass


def test_the_thread_that_releases_a_slot_prepares_for_the_waiter():
    semaphore, events = FairSemaphore(1), []

    def name():
        return threading.current_thread().name

    def take():
        with semaphore.acquire(lambda: events.append(("prepared by", name()))):
            events.append(("held by", name()))

    with semaphore.acquire(lambda: events.append("waited")):
        thread = threading.Thread(target=take, name="waiting")
        thread.start()
        while not semaphore.has_waiters:
            time.sleep(0.001)
        events.append("released")
    thread.join()
    assert events == ["released", ("prepared by", name()), ("held by", "waiting")]


def test_nothing_is_prepared_for_a_waiter_that_has_given_up():
    semaphore, prepared = FairSemaphore(1), []

    async def take(number):
        async with semaphore.acquire_async(lambda: prepared.append(number)):
            pass

    async def main():
        async with semaphore.acquire_async():
            waiting = [asyncio.create_task(take(number)) for number in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(main())
    assert prepared == [0, 2]


def test_try_acquire_takes_a_slot_only_if_one_is_free():
    semaphore = FairSemaphore(2)
    assert [semaphore.try_acquire() for _ in range(3)] == [True, True, False]
    semaphore.release()
    assert semaphore.try_acquire()


def test_no_more_slots_are_held_than_there_are():
    semaphore, now, most = FairSemaphore(3), [], []

    def take():
        with semaphore.acquire():
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


@pytest.mark.slow
def test_a_scope_that_misses_the_signal_to_end_gets_it_again():
    source = (
        "import os, signal\n"
        "waiting = [1]\n"
        "signal.signal(signal.SIGTERM, lambda *_: waiting and waiting.pop() or os._exit(0))\n"
        "print(flush=True)\n"
        "while True: signal.pause()\n"
    )
    init = Command([sys.executable, "-I", "-c", source], stdout=subprocess.PIPE)
    init.stdout.readline()
    scope = object.__new__(_Scope)
    scope._isolation = SimpleNamespace(end_signal=signal.SIGTERM)
    scope._pidfd = os.pidfd_open(init.pid)
    scope.kill()
    os.close(scope._pidfd)
    assert init.wait() == 0
