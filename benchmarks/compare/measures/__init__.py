"""The measurements: one file each, with a function ``measure`` that returns figures by name.

The files run under the interpreters of both libraries, so they import nothing but the standard
library.
"""
