"""The algorithms, one file each; ``gem_train.algorithm`` finds them by id."""
