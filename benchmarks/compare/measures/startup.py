"""From a bare interpreter to a playable game: seconds, memory, modules.

It imports almost nothing before the library, so that the library's own imports are measured.
"""

import sys
import time

__all__ = ["measure"]


def measure(side: str, *, env_id: str) -> dict[str, float]:
    """Import the library and make one game.

    Returns:
        ``import_and_make_s``; ``peak_rss_mib`` of the process; ``modules`` that were imported.
    """
    package = {"gem_core": "gem_core", "gem_llm": "gem"}[side]
    modules_before = len(sys.modules)
    began = time.perf_counter()
    __import__(package).make(env_id).reset(seed=0)
    seconds = time.perf_counter() - began
    return {
        "import_and_make_s": seconds,
        "peak_rss_mib": _peak_rss_mib(),
        "modules": len(sys.modules) - modules_before,
    }


def _peak_rss_mib() -> float:
    # Linux's ru_maxrss starts from what the parent had when it forked, /proc counts this program.
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123 - no module but the library's
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    except OSError:
        import resource  # noqa: PLC0415 - where there is no /proc

        peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak_rss / 2**20 if sys.platform == "darwin" else peak_rss / 1024
