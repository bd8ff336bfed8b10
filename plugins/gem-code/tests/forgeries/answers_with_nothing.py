# The program answers with nothing.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


ANSWERS = iter(
    [{}, {"raised": 5, "with": 7, "text": {}}, {"value": {"object": [1]}}, {"passed": True}] * 100
)


def gem_answer(request):
    write(next(ANSWERS))


def square(n):
    return True


arrange = arranged = square
Squarer = square
