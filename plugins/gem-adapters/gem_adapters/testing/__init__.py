"""The contract of adapters for trainers: the harness and its checks."""
