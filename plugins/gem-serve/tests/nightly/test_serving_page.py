"""What ``docs/serving.md`` shows can be run as it is."""

import json
import re
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from gem_serve.server.command import command

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "serving.md"
EXAMPLE = ROOT / "examples" / "kubernetes.yml"


def manifests() -> list[dict[str, Any]]:
    """Return the Kubernetes objects of the example."""
    found = EXAMPLE.read_text(encoding="utf-8")
    loaded = [OmegaConf.to_container(OmegaConf.create(one)) for one in found.split("---\n")]
    assert [one["kind"] for one in loaded] == ["Deployment", "Service"]  # type: ignore[index,call-overload]
    return loaded  # type: ignore[return-value]


def test_the_commands_of_the_container_and_the_manifest_are_understood(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    in_image = json.loads(re.findall(r"^CMD (\[.*\])$", page, re.MULTILINE)[0])
    deployment, _ = manifests()
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    key = tmp_path / "key"
    key.write_text("k" * 32)
    in_pod = [str(key) if part == "/secret/key" else part for part in container["args"]]
    for arguments in (in_image, in_pod):
        assert arguments[:2] == ["gem-core", "serve"]
        given = command.make_context("serve", list(arguments[2:])).params
        assert given["drain"] < pod["terminationGracePeriodSeconds"]
        assert given["port"] == container["ports"][0]["containerPort"]
