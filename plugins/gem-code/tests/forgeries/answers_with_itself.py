# The program answers with itself.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


def gem_answer(request):
    write({"value": {"object": 0}, "arguments": [{"object": 0}]})


def square(n):
    return square


arrange = arranged = square
Squarer = square
