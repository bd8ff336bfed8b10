"""An online shop; see ``gem_tau.domains`` for its files."""
