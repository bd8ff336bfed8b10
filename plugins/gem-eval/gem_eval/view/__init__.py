"""Looking at runs: an index of episodes in Parquet, a web page served locally, and exports."""
