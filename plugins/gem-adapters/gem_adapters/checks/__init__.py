"""What the conformance suite runs: one module for each adapter, with its ``HARNESS``."""
