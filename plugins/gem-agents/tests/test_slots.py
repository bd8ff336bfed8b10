"""Slots and cached prefixes of prompts, compared with a literal search."""

from hypothesis import given
from hypothesis import strategies as st
from needs import needs

needs("numpy")

from gem_agents.slots import ROUNDS, PrefixIndex, Slot  # noqa: E402

# Few tokens, so that sequences have much in common.
SEQUENCES = st.lists(st.integers(1, 2), min_size=1, max_size=60)


def common(one, other):
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


class TestAllocate:
    @given(
        st.lists(st.tuples(SEQUENCES, st.booleans()), max_size=6),
        st.lists(SEQUENCES, max_size=6),
        st.booleans(),
    )
    def test_slots_are_distinct_and_shared_prefixes_are_cached(self, cached, prompts, repeats):
        if repeats:
            prompts = [prompt * 3 for prompt in prompts]
        index = PrefixIndex()
        slots = [Slot(number) for number in range(len(cached) + len(prompts))]
        known = {}
        for slot, (ids, is_live) in zip(slots, cached, strict=False):
            index.record(slot, ids)
            slot.job = "live" if is_live else None
            known[slot] = ids
        idle = [slot for slot in slots if slot.job is None]
        allocations = index.allocate(prompts, slots, idle)
        assert len({one.slot for one in allocations}) == len(prompts)
        assert {one.slot for one in allocations} <= set(idle)
        computed = {}
        for prompt, allocation in zip(prompts, allocations, strict=True):
            if allocation.round == ROUNDS:
                assert (computed[allocation.source][0], allocation.shared) == (prompt, len(prompt))
            else:
                assert 0 <= allocation.shared < len(prompt)
                assert 0 <= allocation.round < ROUNDS
            if allocation.round:
                source, turn = computed[allocation.source]
                assert turn < allocation.round
            else:
                source = known.get(allocation.source, [])
            assert common(source, prompt) >= allocation.shared
            computed[allocation.slot] = prompt, allocation.round
            best = max((common(ids, prompt) for ids in known.values()), default=0)
            assert allocation.shared >= min(best, len(prompt) - 1)

    def test_a_prompt_that_continues_a_slot_gets_it(self):
        index, slots = PrefixIndex(), [Slot(0), Slot(1), Slot(2)]
        index.record(slots[0], [1, 2, 3])
        index.record(slots[1], [1, 2, 4])
        [first, second] = index.allocate([[1, 2, 4, 9], [1, 2, 3, 8]], slots, slots)
        assert (first.slot, first.source, first.shared) == (slots[1], slots[1], 3)
        assert (second.slot, second.source, second.shared) == (slots[0], slots[0], 3)

    def test_a_prompt_with_a_common_beginning_gets_the_slot_that_was_idle_longest(self):
        index, slots = PrefixIndex(), [Slot(0), Slot(1), Slot(2)]
        for slot, used in zip(slots, (5, 3, 4), strict=True):
            index.record(slot, [1, 2, 3 + slot.number])
            slot.last_used = used
        [allocation] = index.allocate([[1, 2, 9, 9]], slots, slots)
        assert (allocation.slot, allocation.shared, allocation.round) == (slots[1], 2, 0)

    def test_prompts_of_one_step_compute_their_common_beginning_once(self):
        rules = list(range(100, 140))
        prompts = [[*rules, n % 2, *range(20), n] for n in range(6)]
        allocations = PrefixIndex().allocate(prompts, [], [Slot(n) for n in range(6)])
        assert [one.round for one in allocations] == [0, 1, 1, 2, 1, 2]
        assert [one.shared for one in allocations] == [0, 40, 61, 61, 61, 61]

    def test_a_repeated_prompt_is_computed_once(self):
        index, slots = PrefixIndex(), [Slot(n) for n in range(4)]
        index.record(slots[2], [1, 2])
        index.record(slots[3], [1, 2])
        allocations = index.allocate([[1, 2, 3], [5, 6], [1, 2, 3], [1, 2, 3]], slots, slots)
        assert [one.slot.number for one in allocations] == [2, 0, 3, 1]
        assert [one.source.number for one in allocations] == [2, 0, 2, 2]
        assert [one.shared for one in allocations] == [2, 0, 3, 3]
        assert [one.round for one in allocations] == [0, 0, ROUNDS, ROUNDS]
