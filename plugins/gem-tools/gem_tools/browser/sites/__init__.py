"""Small web sites for tasks: a shop, a forum, a ticket tracker and holiday cottages."""

from gem_tools.browser.sites.serving import HOME, SITES, SiteServer, new_site

__all__ = ["HOME", "SITES", "SiteServer", "new_site"]
