"""A plugin that prints while it is imported and in its hook, also below Python."""

import os

from gem_core import hookimpl

print("chatty: imported")
os.write(1, b"chatty: below Python\n")


@hookimpl
def gem_register(registry):
    print("chatty: registered")
