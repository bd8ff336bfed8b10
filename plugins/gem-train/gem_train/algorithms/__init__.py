"""The algorithms, one file each; ``gem_train.algorithm`` loads them by id."""
