"""Code that runs inside the sandbox, which cannot read our files: it is sent there as code.

These modules import only the standard library, ``gem_workers.frames``,
``gem_workers.common_names``, ``gem_sandbox.guest.cells`` and one another.
"""
