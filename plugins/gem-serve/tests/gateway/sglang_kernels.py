"""Lets SGLang's server be imported where its kernels, which need a GPU, cannot be installed.

The import of this module puts something empty in the place of packages that are imported with the
kernels and that no request of the tests uses.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

import transformers.image_utils

_KERNELS = {"gguf", "sgl_kernel", "soundfile", "torchvision"}
"""Packages that SGLang imports with its kernels, and that no request uses."""


class _Nothing(type):
    """A class in the place of anything that a kernel needs when it is defined."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(name, (), {})


class _Package(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(name, (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: Any) -> Any:
        if name.partition(".")[0] in _KERNELS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return _Package(spec.name)

    def exec_module(self, module: Any) -> None:
        module.__path__ = []


assert transformers.image_utils  # which looks for torchvision, and must not find what is empty
sys.meta_path.insert(0, _Finder())
