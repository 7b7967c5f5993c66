"""The programs that pages show are typed as strictly as a reader's checker may ask."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("page", ["README.md", "docs/for-coding-agents.md"])
def test_the_programs_of_the_pages_have_types(page: str, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert programs
    for number, program in enumerate(programs):
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        said, wrong, status = api.run(["--strict", str(file)])
        assert status == 0, said + wrong
