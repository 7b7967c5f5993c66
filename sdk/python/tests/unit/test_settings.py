"""Arguments go first, then the environment, then the defaults."""

import pytest

from openintent_channels._settings import resolve

ENVIRONMENT = {
    "OPENINTENT_SERVER": "env:1", "OPENINTENT_API_KEY": "env-key", "OPENINTENT_AGENT_ID": "env-agent", "OPENINTENT_TLS": "1",
}


def test_the_defaults() -> None:
    settings = resolve({}, None, None, None, None)
    assert (settings.target, settings.tls, settings.metadata) == ("127.0.0.1:50051", False, ())
    assert settings.sender == "operator"


def test_the_environment() -> None:
    settings = resolve(ENVIRONMENT, None, None, None, None)
    assert (settings.target, settings.tls, settings.sender) == ("env:1", True, "env-agent")
    assert settings.metadata == (("x-api-key", "env-key"), ("x-agent-id", "env-agent"))


def test_arguments_go_first() -> None:
    settings = resolve(ENVIRONMENT, "arg:2", "arg-key", "arg-agent", False)
    assert (settings.target, settings.tls) == ("arg:2", False)
    assert settings.metadata == (("x-api-key", "arg-key"), ("x-agent-id", "arg-agent"))


@pytest.mark.parametrize(
    ("server", "target", "tls"),
    [("https://host:9", "host:9", True), ("http://host:9/", "host:9", False), ("dns:///host:9", "dns:///host:9", True)],
)
def test_schemes(server: str, target: str, tls: bool) -> None:
    settings = resolve(ENVIRONMENT, server, None, None, None)
    assert (settings.target, settings.tls) == (target, tls)


def test_empty_is_unset() -> None:
    settings = resolve(dict.fromkeys(ENVIRONMENT, ""), None, None, None, None)
    assert (settings.target, settings.tls, settings.metadata) == ("127.0.0.1:50051", False, ())
