"""Models that ``gem-core get-model`` fetches."""
