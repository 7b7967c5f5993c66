"""No modules of the package import each other in a circle, not even for the type checker alone or inside a function."""

import ast
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import openintent_channels


def modules_of(package: Path) -> dict[str, Path]:
    """Returns the files of a package's modules by their full names."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports_of(module: str, file: Path, known: Collection[str]) -> Iterator[str]:
    """Yields the known modules that a module imports, anywhere in its text."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield from [name for name in (f"{source}.{alias.name}", source) if name in known][:1]


def circle_in(package: Path) -> list[str]:
    """Returns the modules of a circle, each before the next that it imports, and the first again at the end; or nothing."""
    modules = modules_of(package)
    try:
        TopologicalSorter({name: set(imports_of(name, file, modules)) for name, file in modules.items()}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    circle = circle_in(Path(openintent_channels.__file__).parent)
    assert not circle, "modules import each other in a circle: " + " imports ".join(circle)


@pytest.mark.parametrize(
    "closing",
    [
        "from .first import Name",
        "from . import first",
        "from made import first",
        "import made.first",
        "import os, made.first as other",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .first import Name",
        "def function():\n    from .first import Name",
    ],
)
def test_a_circle_is_found(tmp_path: Path, closing: str) -> None:
    package = tmp_path / "made"
    package.mkdir()
    texts = {"__init__": "from .first import Name", "first": "from .second import Name", "second": closing}
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    assert sorted(circle_in(package)[1:]) == ["made.first", "made.second"]
    (package / "second.py").write_text("", encoding="utf-8")
    assert circle_in(package) == []
