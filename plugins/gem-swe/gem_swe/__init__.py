"""Software engineering for gem-core: repositories with bugs, made without end."""
