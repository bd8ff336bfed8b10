"""The records of episodes: trajectories, their files, and rows to train on."""
