"""An example of algorithms for gem-train."""
