k2
