"""WikiGame: opening of graphs, resets, steps, memory, and how far players get."""
