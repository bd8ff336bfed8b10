"""Small web sites for tasks: a shop, a forum, a ticket tracker and holiday cottages."""

from gem_tools.browser.sites.serving import SITES, SiteServer, new_site

__all__ = ["SITES", "SiteServer", "new_site"]
