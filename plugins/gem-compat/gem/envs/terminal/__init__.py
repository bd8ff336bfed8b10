"""Tasks in terminals of Docker containers, which gem-core does not have yet."""
