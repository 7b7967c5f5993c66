"""Arguments go first, then the environment, then the defaults."""

from typing import Any

import pytest

from openintent_channels import Agent, AsyncOpenIntentClient, InvalidArgumentError, OpenIntentClient
from openintent_channels._environment import misspelt
from openintent_channels._settings import resolve

ENVIRONMENT = {
    "OPENINTENT_SERVER": "env:1", "OPENINTENT_API_KEY": "env-key", "OPENINTENT_AGENT_ID": "env-agent", "OPENINTENT_TLS": "1",
}
DEVELOPMENT = (("x-api-key", "dev-key-001"),)


def test_the_defaults() -> None:
    settings = resolve({}, None, None, None, None)
    assert (settings.target, settings.tls, settings.metadata) == ("127.0.0.1:50051", False, DEVELOPMENT)
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
    [
        ("https://host:9", "host:9", True),
        ("http://host:9/", "host:9", False),
        ("host:65535", "host:65535", True),
        ("[::1]:9", "[::1]:9", True),
    ],
)
def test_addresses(server: str, target: str, tls: bool) -> None:
    settings = resolve(ENVIRONMENT, server, None, None, None)
    assert (settings.target, settings.tls) == (target, tls)


@pytest.mark.parametrize(("text", "tls"), [("1", True), ("TRUE", True), ("0", False), ("false", False), ("", False)])
def test_the_environment_may_ask_for_tls(text: str, tls: bool) -> None:
    assert resolve({"OPENINTENT_TLS": text}, None, None, None, None).tls is tls


def test_another_word_than_one_or_zero_for_tls_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="^OPENINTENT_TLS must be 1 or 0, not 'on'"):
        resolve({"OPENINTENT_TLS": "on"}, None, None, None, None)


NO_ADDRESSES = [
    "host", "host:", ":9", "host:port", "host:0", "host:65536", "host:-1", "host:٣", "host:9/v1", "user@host:9", "a b:9",
    "::1:9", "[::1]", "[host]:9", "dns:///host:9", "ftp://host:9", "https://host", "http://", "host:9\n",
]


@pytest.mark.parametrize("server", NO_ADDRESSES)
def test_what_is_no_address_is_refused_with_the_name_of_its_setting(server: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^server must be host:port, .* not ") as raised:
        resolve({}, server, None, None, None)
    assert raised.value.violations[0].field == "server"
    with pytest.raises(InvalidArgumentError, match="^OPENINTENT_SERVER must be host:port, "):
        resolve({"OPENINTENT_SERVER": server}, None, None, None, None)


@pytest.mark.parametrize("client", [OpenIntentClient, AsyncOpenIntentClient])
def test_a_client_is_not_made_for_what_is_no_address(client: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="^server must"):
        client("127.0.0.1")


@pytest.mark.parametrize("server", ["localhost:9", "127.8.0.1:9", "[::1]:9", "https://127.0.0.1:9"])
def test_a_server_on_this_machine_gets_the_development_key_when_no_other_is_given(server: str) -> None:
    assert resolve({"OPENINTENT_API_KEY": ""}, server, None, None, None).metadata == DEVELOPMENT
    assert resolve(ENVIRONMENT, server, None, None, None).api_key == "env-key"
    assert resolve({}, server, "given", None, None).api_key == "given"


@pytest.mark.parametrize("server", ["host:9", "10.0.0.1:9", "[2001:db8::1]:9", "localhost.example:9", "0.0.0.0:9"])
def test_the_development_key_is_sent_nowhere_else(server: str) -> None:
    assert resolve({}, server, None, None, None).metadata == ()


def test_empty_is_unset() -> None:
    settings = resolve(dict.fromkeys(ENVIRONMENT, ""), None, None, None, None)
    assert (settings.target, settings.tls, settings.metadata) == ("127.0.0.1:50051", False, DEVELOPMENT)


@pytest.mark.parametrize(
    "make",
    [
        lambda **said: OpenIntentClient("host:9", **said),
        lambda **said: AsyncOpenIntentClient("host:9", **said),
        lambda **said: Agent("me", **said),
    ],
)
def test_unknown_settings_are_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="agent"):
        make(agent="me")


@pytest.mark.parametrize("empty", ["", " ", "\n"])
def test_an_empty_key_or_agent_is_refused(empty: str) -> None:
    says = "is empty: give {}, or leave it out, so that the environment decides"
    with pytest.raises(InvalidArgumentError, match="^agent_id " + says.format("the agent's id")):
        resolve(ENVIRONMENT, "host:9", None, empty, None)
    with pytest.raises(InvalidArgumentError, match="^api_key " + says.format("the key")):
        OpenIntentClient("host:9", api_key=empty)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("APIKEY", "API_KEY"), ("KEY", "API_KEY"), ("API_KYE", "API_KEY"), ("AGENT", "AGENT_ID"), ("AGENTID", "AGENT_ID"),
        ("SEVER", "SERVER"), ("TLSS", "TLS"), ("CAFILE", "CA_FILE"), ("URI", "URL"), ("INTENTID", "INTENT_ID"),
        ("SERVER", None), ("API_KEYS", None), ("INTENT", None), ("RETENTION", None), ("TLS_CERT", None), ("TSL", None),
    ],
)
def test_misspelt_variables_are_found(name: str, meant: str | None) -> None:
    sentence = f"OPENINTENT_{name} is no setting and has no effect; did you mean OPENINTENT_{meant}?"
    assert misspelt({"HOME": "/", f"OPENINTENT_{name}": "x"}) == ([sentence] if meant else [])
    assert misspelt({f"OPENINTENT_{name}": ""}) == []


def test_misspelt_variables_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        resolve({"OPENINTENT_SERVR": "host:1"}, None, None, None, None)
    assert [record.getMessage() for record in caplog.records] == [
        "OPENINTENT_SERVR is no setting and has no effect; did you mean OPENINTENT_SERVER?"
    ]
