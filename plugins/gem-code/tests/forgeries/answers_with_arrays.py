# The program answers with arrays.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


ARRAYS = [["<f8", float("nan")], ["|b1", [True, True]], ["<U5", [{"object": 0}]], ["<i8,<i8", [1]]]
TURNS = iter(ARRAYS * 100)


def gem_answer(request):
    write({"value": {"array": next(TURNS)}, "arguments": [{"array": next(TURNS)}]})


def gem_end(job):
    write([{"array": next(TURNS)} for _ in job["evaluate"]])


def square(n):
    return True


arrange = arranged = square
Squarer = square
