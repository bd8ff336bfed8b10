"""Providers of machines: ``local``, ``docker`` and ``process``."""
