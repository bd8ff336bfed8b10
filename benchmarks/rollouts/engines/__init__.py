"""Engines that play episodes against an endpoint: each file has ``play(workload)``.

Bare loops show the limits; the others are libraries, used through their documented interfaces.
"""
