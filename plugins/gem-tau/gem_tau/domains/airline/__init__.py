"""An airline; see ``gem_tau.domains`` for its files."""
