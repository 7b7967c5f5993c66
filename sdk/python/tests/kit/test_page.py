"""The tests that docs/testing.md shows run as they stand there, and have types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from mypy import api

PAGE = Path(__file__).resolve().parents[4] / "docs/testing.md"


def written(folder: Path) -> list[str]:
    """Writes the files of the page into a folder, and returns their names."""
    shown: list[tuple[str, str]] = re.findall(r"```python (\S+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for name, text in shown:
        (folder / name).write_text(text, encoding="utf-8")
    return [name for name, _ in shown]


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    names = written(tmp_path)
    assert names[0] == "conftest.py"
    assert len(names) == 5
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "pytest", "--quiet", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert re.search(r"\b10 passed", said.stdout), said.stdout


def test_the_tests_of_the_page_have_types(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in written(tmp_path)]
    said, wrong, status = api.run(["--strict", *files])
    assert status == 0, said + wrong
