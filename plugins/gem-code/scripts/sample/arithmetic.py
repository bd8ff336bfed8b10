"""Numbers: digits, divisors, primes, bases."""

import itertools
import math

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]


def _digital_root(text: str) -> str:
    digits = text.strip()
    while len(digits) > 1:
        digits = str(sum(map(int, digits)))
    return digits


def _tiles(text: str) -> str:
    width, depth = integers(text)
    side = max(s for s in range(1, width + 1) if width % s == depth % s == 0)
    return joined((side, sum(1 for _ in range(0, width * depth, side * side))))


def _lamps(text: str) -> str:
    count = int(text)
    lit = [False] * (count + 1)
    for step in range(1, count + 1):
        for lamp in range(step, count + 1, step):
            lit[lamp] = not lit[lamp]
    return str(sum(lit))


def _negabinary(text: str) -> str:
    number = int(text)
    if number == 0:
        return "0"
    for length in itertools.count(1):
        for digits in itertools.product((0, 1), repeat=length - 1):
            powers = zip((1, *digits), range(length - 1, -1, -1), strict=True)
            if sum(digit * (-2) ** power for digit, power in powers) == number:
                return "1" + "".join(map(str, digits))
    raise AssertionError


def _primes(text: str) -> str:
    low, high = integers(text)
    found = [n for n in range(max(low, 2), high + 1) if all(n % d for d in range(2, n))]
    return joined((len(found), max(found, default=-1)))


def _zeros(text: str) -> str:
    number, base = integers(text)
    product, zeros = math.factorial(number), 0
    while product % base == 0:
        product //= base
        zeros += 1
    return str(zeros)


def _power(text: str) -> str:
    base, exponent, modulus = integers(text)
    return str(base**exponent % modulus)


PROBLEMS = [
    Problem(
        name="digits-to-one",
        topic="arithmetic",
        level="easy",
        text="Add up the decimal digits of a number; do the same with the sum, and go on until a "
        "single digit is left. Print that digit.\n\nInput: one line with a whole number from 0 to "
        "10^200.\nOutput: the digit.",
        solution="""\
number = int(input())
print(0 if number == 0 else 1 + (number - 1) % 9)
""",
        brute=_digital_root,
        inputs=lambda rng: (
            ["0\n", "9\n", "10\n", "199\n", "1" + "0" * 200 + "\n"]
            + [f"{rng.randrange(10 ** rng.randrange(1, 150))}\n" for _ in range(7)]
        ),
    ),
    Problem(
        name="square-tiles",
        topic="arithmetic",
        level="easy",
        text="A rectangular floor is to be covered with equal square tiles. Tiles come with any "
        "whole side length, none may be cut, and the fewest tiles are wanted.\n\nInput: width and "
        "depth of the floor, two whole numbers from 1 to 10^12.\nOutput: the side length of a "
        "tile and the number of tiles, separated by a space.",
        solution="""\
from math import gcd

width, depth = map(int, input().split())
side = gcd(width, depth)
print(side, (width // side) * (depth // side))
""",
        brute=_tiles,
        inputs=lambda rng: (
            ["1 1\n", "12 18\n", "7 7\n", "13 8\n"]
            + [joined([s * rng.randint(1, 9), s * rng.randint(1, 9)]) for s in (2, 5, 10, 30)]
        ),
        large=lambda rng: (
            ["1000000000000 999999999999\n"]
            + [
                joined([s * rng.randint(1, 10**5), s * rng.randint(1, 10**5)])
                for s in (6, 10**6, 97)
            ]
        ),
    ),
    Problem(
        name="row-of-lamps",
        topic="arithmetic",
        level="medium",
        text="A corridor has n lamps, numbered from 1, all off. One after another n people walk "
        "through; the k-th person flips the switch of every k-th lamp: k, 2k, 3k and so on. How "
        "many lamps are on in the end?\n\nInput: n, a whole number from 0 to 10^18.\n"
        "Output: the number of lamps that are on.",
        solution="""\
from math import isqrt

print(isqrt(int(input())))
""",
        brute=_lamps,
        inputs=lambda rng: (
            ["0\n", "1\n", "3\n", "4\n", "99\n", "100\n", "101\n"]
            + [f"{rng.randint(5, 900)}\n" for _ in range(2)]
        ),
        large=lambda _: ["1000000000000000000\n", "999999999999999999\n", "4503599761588224\n"],
    ),
    Problem(
        name="base-minus-two",
        topic="arithmetic",
        level="medium",
        text="With the base -2, every whole number, positive or negative, is a sum of different "
        "powers of -2 and can be written with the digits 0 and 1 and no sign: 1 is 1, 2 is 110, "
        "-1 is 11. Write a number in this base, without leading zeros.\n\nInput: a whole number "
        "from -10^15 to 10^15.\nOutput: its digits.",
        solution="""\
number = int(input())
digits = "" if number else "0"
while number:
    digit = number % 2
    digits = str(digit) + digits
    number = (number - digit) // -2
print(digits)
""",
        brute=_negabinary,
        inputs=lambda rng: (
            ["0\n", "1\n", "-1\n", "2\n", "-2\n", "-7\n"]
            + [f"{rng.randint(-400, 400)}\n" for _ in range(3)]
        ),
        large=lambda rng: [f"{10**15}\n", f"{-(10**15)}\n", f"{rng.randint(-(10**15), 10**15)}\n"],
    ),
    Problem(
        name="primes-between",
        topic="arithmetic",
        level="medium",
        text="Count the prime numbers from a to b, both included, and name the largest of them.\n\n"
        "Input: a and b, with 1 <= a <= b <= 1000000.\nOutput: the count and the largest prime, "
        "separated by a space; -1 in place of the prime if there is none.",
        solution="""\
low, high = map(int, input().split())
sieve = bytearray([1]) * (high + 1)
sieve[:2] = bytes(min(2, high + 1))
for number in range(2, int(high**0.5) + 1):
    if sieve[number]:
        sieve[number * number :: number] = bytes(len(range(number * number, high + 1, number)))
primes = [number for number in range(low, high + 1) if sieve[number]]
print(len(primes), primes[-1] if primes else -1)
""",
        brute=_primes,
        inputs=lambda rng: (
            ["1 1\n", "2 2\n", "1 2\n", "24 28\n", "4 4\n", "89 97\n"]
            + [joined(sorted(rng.sample(range(1, 800), 2))) for _ in range(3)]
        ),
        large=lambda _: ["1 1000000\n", "999000 1000000\n", "370262 370372\n"],
    ),
    Problem(
        name="zeros-at-the-end",
        topic="arithmetic",
        level="hard",
        text="The product 1 * 2 * ... * n is written in base b. With how many zeros does it end? "
        "(For n = 0 the product is 1.)\n\nInput: n from 0 to 10^15 and b from 2 to 10^6.\n"
        "Output: the number of zeros.",
        solution="""\
number, base = map(int, input().split())
best, prime = None, 2
while base > 1:
    if prime * prime > base:
        prime = base
    power = 0
    while base % prime == 0:
        base //= prime
        power += 1
    if power:
        count, left = 0, number
        while left:
            left //= prime
            count += left
        best = count // power if best is None else min(best, count // power)
    prime += 1
print(best)
""",
        brute=_zeros,
        inputs=lambda rng: (
            ["0 2\n", "1 10\n", "5 10\n", "25 10\n", "10 16\n", "30 12\n"]
            + [joined([rng.randint(10, 300), rng.randint(2, 60)]) for _ in range(3)]
        ),
        large=lambda _: ["1000000000000000 10\n", "999999999999 999983\n", "123456789012 720720\n"],
    ),
    Problem(
        name="remainder-of-a-power",
        topic="arithmetic",
        level="easy",
        text="What is left when a to the power of b is divided by m? (0 to the power of 0 is 1.)"
        "\n\nInput: a, b and m in one line, with 0 <= a, b <= 10^18 and 1 <= m <= 10^9.\n"
        "Output: the remainder.",
        solution="""\
base, exponent, modulus = map(int, input().split())
print(pow(base, exponent, modulus))
""",
        brute=_power,
        inputs=lambda rng: (
            ["0 0 5\n", "0 0 1\n", "0 7 9\n", "7 0 10\n", "2 10 1000\n", "5 3 1\n"]
            + [
                joined([rng.randint(2, 99), rng.randint(2, 60), rng.randint(2, 999)])
                for _ in range(3)
            ]
        ),
        large=lambda rng: (
            [
                f"{10**18} {10**18} 1000000000\n",
                f"3 {10**18 - 1} 998244353\n",
                joined([rng.randrange(10**18), rng.randrange(10**18), rng.randint(2, 10**9)]),
            ]
        ),
    ),
]
