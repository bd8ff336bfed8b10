"""Pretrained models are found by their folders."""

import pytest

from gem_core.errors import ConfigError
from gem_rollout.models.pretrained import find_pretrained


def test_the_folder_of_a_run_is_refused_with_the_folder_of_its_model(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"is the folder of a run; its model is in .*model"):
        find_pretrained(tmp_path)
    assert find_pretrained(model) == (str(model), {})
