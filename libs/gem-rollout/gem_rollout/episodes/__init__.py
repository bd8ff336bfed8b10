"""Playing episodes: many at the same time, with deadlines, budgets and faults."""
