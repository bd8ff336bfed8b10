"""A list of tasks, with a user who has notifications: the domain in which tau2 tests itself."""
