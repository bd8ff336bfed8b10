"""What runs at the other end of a pipe: in a container, or as a plain child of the host.

These modules use the standard library and one another alone (Python 3.9 and later), as they travel
as text into places where gem-sandbox is not installed.
"""

__all__: list[str] = []
