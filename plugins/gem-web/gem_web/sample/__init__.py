"""The generated shop of ``webshop:Sample``: invented products, and goals of its customers."""

from gem_web.sample.catalogue import sample_catalogue
from gem_web.sample.folder import write_folder

__all__ = ["sample_catalogue", "write_folder"]
