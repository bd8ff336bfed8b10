"""Environments beyond one process: a server, Ray, and a gateway for agent programs."""
