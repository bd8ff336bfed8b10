from routes.heap import Heap


def heap_of(numbers: list[int]) -> Heap[tuple[int]]:
    heap: Heap[tuple[int]] = Heap()
    for number in numbers:
        heap.push((number,))
    return heap


def drained(heap: Heap[tuple[int]]) -> list[int]:
    numbers = []
    while item := heap.pop():
        numbers.append(item[0])
    return numbers


def test_items_leave_in_order_whatever_the_order_they_came_in() -> None:
    assert drained(heap_of([5, 1, 4, 2, 3])) == [1, 2, 3, 4, 5]
    assert drained(heap_of([1, 2, 3, 4, 5])) == [1, 2, 3, 4, 5]
    assert drained(heap_of([5, 4, 3, 2, 1])) == [1, 2, 3, 4, 5]


def test_a_larger_heap_keeps_its_order() -> None:
    assert drained(heap_of([7 * n % 31 for n in range(31)])) == list(range(31))
    assert drained(heap_of([11 * n % 24 for n in range(24)])) == list(range(24))
    assert drained(heap_of([n * n % 17 for n in range(17)])) == sorted(
        n * n % 17 for n in range(17)
    )


def test_equal_items_are_all_kept() -> None:
    assert drained(heap_of([2, 1, 2, 1, 2])) == [1, 1, 2, 2, 2]
    assert drained(heap_of([4, 4])) == [4, 4]


def test_small_heaps_keep_their_order() -> None:
    assert drained(heap_of([2, 4, 1, 3])) == [1, 2, 3, 4]
    assert drained(heap_of([3, 1, 4, 2, 5, 6])) == [1, 2, 3, 4, 5, 6]
    assert drained(heap_of([1, 2, 7, 6, 3, 5, 4])) == [1, 2, 3, 4, 5, 6, 7]


def test_an_empty_heap_gives_none() -> None:
    heap = heap_of([8])
    assert heap_of([]).pop() is None
    assert heap.pop() == (8,)
    assert heap.pop() is None


def test_pushes_and_pops_can_alternate() -> None:
    heap = heap_of([6, 3, 9])
    assert heap.pop() == (3,)
    heap.push((1,))
    heap.push((7,))
    assert heap.pop() == (1,)
    assert heap.pop() == (6,)
    heap.push((8,))
    assert drained(heap) == [7, 8, 9]


def test_tuples_are_compared_item_by_item() -> None:
    heap: Heap[tuple[int, str]] = Heap()
    for item in [(2, "a"), (1, "c"), (1, "b")]:
        heap.push(item)
    assert heap.pop() == (1, "b")
    assert heap.pop() == (1, "c")
    assert heap.pop() == (2, "a")
