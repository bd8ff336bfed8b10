# The program describes itself as exceptions.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


def gem_describe(names):
    kinds = ["SystemExit", "StopIteration", "AssertionError"]
    write({name: {"exception": kinds[number % 3 :]} for number, name in enumerate(names)})


def square(n):
    return True


arrange = arranged = square
Squarer = square
