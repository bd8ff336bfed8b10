"""Words and names that tasks are made of."""

from random import Random

__all__ = ["CITIES", "FIRST", "LAST", "WORDS", "address", "people", "sentence"]

FIRST = (
    "Ada Amir Ana Bo Carla Chen Dana Elif Emil Fay Goran Hana Ines Ivo Jana Joel Kai Lena Luis "
    "Maya Mira Nils Noor Olga Omar Pia Ravi Rosa Sam Tara Tom Uma Vera Wim Yuki Zoe"
).split()
LAST = (
    "Abara Becker Costa Dahl Engel Farah Garcia Hale Ito Jensen Kaya Lopez Moreau Novak Okafor "
    "Patel Quinn Rossi Silva Tanaka Ueda Varga Weber Xu Yilmaz Zeman"
).split()
WORDS = (
    "amber anchor apple basin beacon birch bolt brass bridge canal cedar chart clay cloud cobalt "
    "copper coral crane delta drift ember fern field flint forest garnet glass grain harbor hazel "
    "island ivory juniper lake lantern linen maple marble meadow mirror moss north ocean olive "
    "orchid paper pebble pine plum quartz quill reed ridge river saddle sage shell silver slate "
    "spruce stone summit thistle timber tulip velvet violet walnut willow winter"
).split()
CITIES = "Bergen Cork Delft Essen Faro Ghent Graz Lille Malmo Oulu Parma Split Turku Vigo".split()


def people(random: Random, count: int) -> list[str]:
    """Return different full names."""
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    return random.sample(names, count)


def sentence(random: Random, words: int = 6) -> str:
    """Return a line of words."""
    return " ".join(random.choice(WORDS) for _ in range(words))


def address(random: Random) -> str:
    """Return an IPv4 address of a private network."""
    return f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
