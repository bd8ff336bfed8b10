"""Machines in namespaces of the kernel, over the host's programs or the files of an image."""
