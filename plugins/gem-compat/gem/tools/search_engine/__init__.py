"""Servers that search; each is a program."""
