# The program describes itself as values.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


def gem_describe(names):
    write({name: {"value": {"dict": [[3, 9], [4, 16]]}} for name in names})


def square(n):
    return {3: 9}


arrange = arranged = square
Squarer = square
