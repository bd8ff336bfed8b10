"""Code that runs next to the programs: in a container, or in a child process of the host.

These modules import only the standard library (Python 3.9 and later) and one another, because
they are sent as source text to places where gem-sandbox is not installed.
"""

__all__: list[str] = []
