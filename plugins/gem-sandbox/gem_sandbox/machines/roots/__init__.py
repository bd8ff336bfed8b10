"""Root file systems of the provider ``local``: made once, kept in the cache, named by images."""
