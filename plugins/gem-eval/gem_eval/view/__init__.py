"""The viewer of runs: an index of episodes in Parquet, a local web page, and exports."""
