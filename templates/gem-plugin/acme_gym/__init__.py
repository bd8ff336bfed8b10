"""An example of a plugin for gem-core."""
