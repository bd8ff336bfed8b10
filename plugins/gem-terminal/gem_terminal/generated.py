"""Stub until merged."""
def generate(rng, difficulty="easy"): raise RuntimeError
