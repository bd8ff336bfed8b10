"""The adapters of the conformance suite: one module for each adapter, with its ``HARNESS``."""
