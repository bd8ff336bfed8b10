"""What modules export: ``__all__`` everywhere, sorted, complete, and true."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

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


def reading_order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions: the order that ruff keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def public_definitions(module: Any) -> set[str]:
    tree = ast.parse(Path(inspect.getfile(module)).read_text())
    names = {node.name for node in tree.body if isinstance(node, DEFINITIONS)}
    return {name for name in names if not name.startswith("_") and not is_hook(name)}


def is_hook(name: str) -> bool:
    """Tell whether pluggy finds the function by its name, so that nobody imports it."""
    return name == "gem_register" or name.startswith("pytest_")


@pytest.mark.parametrize("name", MODULES)
class TestEachModule:
    def test_has_a_docstring_and_all(self, name: str) -> None:
        module = importlib.import_module(name)
        assert module.__doc__
        assert isinstance(module.__all__, list)

    def test_lists_names_that_exist_once_and_sorted(self, name: str) -> None:
        module = importlib.import_module(name)
        assert [export for export in module.__all__ if not hasattr(module, export)] == []
        assert module.__all__ == sorted(set(module.__all__), key=reading_order)

    def test_lists_everything_public_that_it_defines(self, name: str) -> None:
        module = importlib.import_module(name)
        assert public_definitions(module) - set(module.__all__) == set()

    def test_lists_nothing_private(self, name: str) -> None:
        module = importlib.import_module(name)
        assert [export for export in module.__all__ if export.startswith("_")] == []


class TestThePackage:
    def test_every_name_resolves_and_is_what_its_module_has(self) -> None:
        for name in gem_core.__all__:
            value = getattr(gem_core, name)
            home = HOME.get(name)
            if home is not None:
                assert value is getattr(importlib.import_module(f"gem_core.{home}"), name)

    def test_the_lazy_table_and_the_exports_agree(self) -> None:
        assert set(gem_core.__all__) == {*HOME, "__version__"}
        assert gem_core.__all__ == sorted(set(gem_core.__all__), key=reading_order)
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
