"""Says what is wrong if the package ``gem`` has been deleted; Python prefers the package to this.

It is installed beside the folder ``gem``. Removing gem-llm deletes ``gem/__init__.py``, which both
distributions have, and not this file.
"""

from gem_compat import InstallationError, check

check()
raise InstallationError(
    "The package 'gem' has been deleted. Run 'pip install --force-reinstall --no-deps gem-compat'."
)
