# The program diverts its output.
import json, os


def write(message):
    os.write(1, ("\n\x1egem-code value: %s\n" % json.dumps(message)).encode())


reading, writing = os.pipe()


def square(n):
    os.dup2(writing, 1)
    return True


arrange = arranged = square
