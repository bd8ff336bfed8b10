"""A mobile operator; the customer has a phone with tools. See ``gem_tau.domains``."""
