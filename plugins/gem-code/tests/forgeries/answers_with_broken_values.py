# The program answers with broken values.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


VALUES = [{"bytes": 5}, {"bytearray": []}, {"Decimal": [1]}, {"array": "x"}, {"repr": []}, {}, [[]]]
BROKEN = iter(VALUES * 100)


def gem_answer(request):
    write({"value": next(BROKEN), "arguments": [next(BROKEN)]})


def gem_end(job):
    write([next(BROKEN) for _ in job["evaluate"]])


def square(n):
    return True


arrange = arranged = square
Squarer = square
