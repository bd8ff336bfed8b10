"""Who gets which place, and what of a prompt is there: against a literal search."""

from hypothesis import given
from hypothesis import strategies as st

from gem_agents.places import ROUNDS, Place, Shelf

# Few tokens, so that sequences have much in common.
SEQUENCES = st.lists(st.integers(1, 2), min_size=1, max_size=60)


def common(one, other):
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


class TestSeat:
    @given(
        st.lists(st.tuples(SEQUENCES, st.booleans()), max_size=6),
        st.lists(SEQUENCES, max_size=6),
        st.booleans(),
    )
    def test_seats_are_distinct_and_what_is_shared_is_there(self, cached, prompts, repeats):
        if repeats:
            prompts = [prompt * 3 for prompt in prompts]
        shelf = Shelf()
        places = [Place(number) for number in range(len(cached) + len(prompts))]
        known = {}
        for place, (ids, is_live) in zip(places, cached, strict=False):
            shelf.put(place, ids)
            place.job = "live" if is_live else None
            known[place] = ids
        idle = [place for place in places if place.job is None]
        seatings = shelf.seat(prompts, places, idle)
        assert len({one.place for one in seatings}) == len(prompts)
        assert {one.place for one in seatings} <= set(idle)
        computed = {}
        for prompt, seating in zip(prompts, seatings, strict=True):
            if seating.round == ROUNDS:
                assert (computed[seating.source][0], seating.shared) == (prompt, len(prompt))
            else:
                assert 0 <= seating.shared < len(prompt)
                assert 0 <= seating.round < ROUNDS
            if seating.round:
                source, turn = computed[seating.source]
                assert turn < seating.round
            else:
                source = known.get(seating.source, [])
            assert common(source, prompt) >= seating.shared
            computed[seating.place] = prompt, seating.round
            best = max((common(ids, prompt) for ids in known.values()), default=0)
            assert seating.shared >= min(best, len(prompt) - 1)

    def test_who_goes_on_takes_the_place(self):
        shelf, places = Shelf(), [Place(0), Place(1), Place(2)]
        shelf.put(places[0], [1, 2, 3])
        shelf.put(places[1], [1, 2, 4])
        [first, second] = shelf.seat([[1, 2, 4, 9], [1, 2, 3, 8]], places, places)
        assert (first.place, first.source, first.shared) == (places[1], places[1], 3)
        assert (second.place, second.source, second.shared) == (places[0], places[0], 3)

    def test_who_begins_alike_takes_the_place_that_was_used_longest_ago(self):
        shelf, places = Shelf(), [Place(0), Place(1), Place(2)]
        for place, used in zip(places, (5, 3, 4), strict=True):
            shelf.put(place, [1, 2, 3 + place.number])
            place.used = used
        [seating] = shelf.seat([[1, 2, 9, 9]], places, places)
        assert (seating.place, seating.shared, seating.round) == (places[1], 2, 0)

    def test_prompts_of_one_moment_compute_their_common_beginning_once(self):
        rules = list(range(100, 140))
        prompts = [[*rules, n % 2, *range(20), n] for n in range(6)]
        seatings = Shelf().seat(prompts, [], [Place(n) for n in range(6)])
        assert [one.round for one in seatings] == [0, 1, 1, 2, 1, 2]
        assert [one.shared for one in seatings] == [0, 40, 61, 61, 61, 61]

    def test_what_comes_twice_is_computed_once(self):
        shelf, places = Shelf(), [Place(n) for n in range(4)]
        shelf.put(places[2], [1, 2])
        shelf.put(places[3], [1, 2])
        seatings = shelf.seat([[1, 2, 3], [5, 6], [1, 2, 3], [1, 2, 3]], places, places)
        assert [one.place.number for one in seatings] == [2, 0, 3, 1]
        assert [one.source.number for one in seatings] == [2, 0, 2, 2]
        assert [one.shared for one in seatings] == [2, 0, 3, 3]
        assert [one.round for one in seatings] == [0, 0, ROUNDS, ROUNDS]
