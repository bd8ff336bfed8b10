"""Adapters: the environments of gem-core in other trainers, one module for each framework."""
