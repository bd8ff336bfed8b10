"""The contract of adapters for trainers: what a harness is, and the checks of one."""
