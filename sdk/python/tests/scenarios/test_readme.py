"""The programs in README.md and in the page about the mailbox run as they stand there, against the stage's servers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAGES = [ROOT / "sdk/python/README.md", ROOT / "docs/mailbox.md"]
SECTIONS = [section for page in PAGES for section in page.read_text(encoding="utf-8").split("\n## ")]
SNIPPETS = [
    (section.partition("\n")[0], rest.partition("\n```")[0] + "\n")
    for section in SECTIONS
    for rest in section.split("```python\n")[1:]
]


@pytest.mark.parametrize(("section", "program"), SNIPPETS, ids=[section for section, _ in SNIPPETS])
def test_snippet(section: str, program: str, tmp_path: Path) -> None:
    # In a process of its own, as a reader would run it; from a file, so that a traceback shows lines.
    path = tmp_path / "snippet.py"
    path.write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-W", "error", str(path)], check=True, timeout=60, env=environment)
