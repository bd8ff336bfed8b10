"""The exports of the modules, and the lazy names of the package."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import gem_core

PACKAGE = Path(inspect.getfile(gem_core)).parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], prefix="gem_core.")
    # __main__ runs the command; conf holds files of configuration and no code.
    if module.name not in {"gem_core.__main__", "gem_core.conf"}
)
HOME = {name: module for module, names in gem_core._MODULES.items() for name in names}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@pytest.mark.parametrize("name", MODULES)
def test_every_public_definition_of_a_module_is_exported(name: str) -> None:
    module = importlib.import_module(name)
    tree = ast.parse(Path(inspect.getfile(module)).read_text())
    defined = {node.name for node in tree.body if isinstance(node, DEFINITIONS)}
    # pluggy and pytest find hooks by their names, so nothing imports them.
    hooks = {name for name in defined if name == "gem_register" or name.startswith("pytest_")}
    public = {name for name in defined - hooks if not name.startswith("_")}
    assert public - set(module.__all__) == set()


class TestThePackage:
    def test_every_name_resolves_and_is_what_its_module_has(self) -> None:
        for name in gem_core.__all__:
            value = getattr(gem_core, name)
            home = HOME.get(name)
            if home is not None:
                assert value is getattr(importlib.import_module(f"gem_core.{home}"), name)

    def test_the_lazy_table_and_the_exports_agree(self) -> None:
        assert set(gem_core.__all__) == {*HOME, "__version__"}
        for name, home in HOME.items():
            assert name in importlib.import_module(f"gem_core.{home}").__all__

    def test_type_checkers_see_what_is_there_at_run_time(self) -> None:
        tree = ast.parse((PACKAGE / "__init__.py").read_text())
        seen = {
            alias.name: node.module
            for block in tree.body
            if isinstance(block, ast.If)
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert seen == {name: f"gem_core.{home}" for name, home in HOME.items()}

    def test_the_names_that_do_not_move_are_there(self) -> None:
        promised = (
            "Env BaseEnv Wrapper Step Tool ToolCall ToolResult Sandbox Program Execution Agent "
            "EnvSpec ToolSpec WrapperSpec hookimpl make make_vec register list_envs print_envs "
            "GemError"
        )
        assert set(promised.split()) <= set(gem_core.__all__)

    def test_a_typo_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="module 'gem_core' has no attribute 'mkae'"):
            _ = gem_core.mkae

    def test_dir_lists_the_lazy_names(self) -> None:
        assert set(gem_core.__all__) <= set(dir(gem_core))

    def test_the_version_is_that_of_the_distribution(self) -> None:
        metadata = importlib.import_module("importlib.metadata")
        assert gem_core.__version__ == metadata.version("gem-core")
