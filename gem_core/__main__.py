"""``python -m gem_core`` is ``gem-core``."""

from gem_core.cli import main

main()
