"""The programs that pages show are typed as strictly as a reader's checker may ask."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[4]


# A page may show its program in pieces. The first program of the SDK's own page has types; those after it show less.
@pytest.mark.parametrize(
    ("page", "shown"),
    [("README.md", None), ("docs/for-coding-agents.md", None), ("docs/mailbox.md", None), ("sdk/python/README.md", 1)],
)
def test_the_programs_of_the_pages_have_types(page: str, shown: int | None, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert programs
    file = tmp_path / "program.py"
    file.write_text("\n".join(programs[:shown]))
    said, wrong, status = api.run(["--strict", str(file)])
    assert status == 0, said + wrong
