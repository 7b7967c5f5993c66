"""The environment names the server (OPENINTENT_SERVER, OPENINTENT_HTTP, OPENINTENT_API_KEY), an option the framework."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import Stage

STORES_NOTHING = ("crewai",)
"""The frameworks whose runs stand alone."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--framework", required=True, help="the folder of the framework to test")


@pytest.fixture
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--framework"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "stage" in metafunc.fixturenames:
        stores = metafunc.config.getoption("--framework") not in STORES_NOTHING
        metafunc.parametrize("stage", ["not stored", "stored"] if stores else ["not stored"], indirect=True)


@pytest.fixture
def stage(request: pytest.FixtureRequest, framework: str, tmp_path: Path) -> Iterator[Stage]:
    with Stage(framework, str(tmp_path / "store") if request.param == "stored" else "") as made:
        yield made
