"""The fixtures for pytest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ..handles import ChannelHandle
from ..models import Intent
from ._server import Server, run_server


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("openintent")
    return dict(marker.kwargs) if marker else {}


@pytest.fixture
def openintent_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of the test's own, whose time stands. Clients and agents that the test makes find it by themselves. The
    marker `openintent` gives it other options: those of `run_server`."""
    with run_server(**_options(request)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        for name in ("OPENINTENT_AGENT_ID", "OPENINTENT_INTENT_ID", "OPENINTENT_TLS", "OPENINTENT_CA_FILE"):
            monkeypatch.delenv(name, raising=False)
        yield server


@pytest.fixture
def intent(openintent_server: Server, request: pytest.FixtureRequest) -> Intent:
    """An active intent that is named after the test."""
    return openintent_server.client().intents.open(request.node.name)


@pytest.fixture
def channel(openintent_server: Server, intent: Intent) -> ChannelHandle:
    """The channel `test` of the intent, as the agent `tester` uses it."""
    return openintent_server.client("tester").channels.open("test", intent.id)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "openintent(**options): options of the server in the test, as run_server takes them")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Adds the server's log to the report of a test that failed."""
    report = yield
    server = getattr(item, "funcargs", {}).get("openintent_server")
    if report.failed and isinstance(server, Server):
        report.sections.append(("Log of the OpenIntent server", server.log))
    return report
