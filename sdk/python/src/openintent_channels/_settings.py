"""Where the server is and who the client is: arguments go first, then the environment, then the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ._addresses import bad_setting, read_address
from ._bounds import agent_id_problem
from ._environment import warn_of_misspelt

DEFAULT_SERVER = "127.0.0.1:50051"

DEVELOPMENT_KEY = "dev-key-001"
"""The key of a server that was started without keys. Such a server listens on its own machine alone, so this key is sent
nowhere else."""

LOCAL_CONNECT_SECONDS = 5.0
"""How long a person waits for a server on this machine that refuses connections."""

_LOCAL_BACKOFF_MS, _BACKOFF_MS = 200, 2_000

# The settings of a connection. A ping tells a dead connection from a quiet one; the server allows one every 10 seconds.
_CHANNEL_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.primary_user_agent", "openintent-channels-python"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach the server, and which agent to act as."""

    target: str
    tls: bool
    api_key: str | None
    agent_id: str | None
    intent_id: str | None = None
    """The intent of calls that name none."""
    local: bool = False
    """Whether the server is on this machine."""
    certificates: bytes | None = None
    """The certificates to trust, in PEM form; None for the system's."""
    exchanges: bool = False
    """Whether calls go on an exchange from the first one on, for tests: OPENINTENT_TEST_EXCHANGES, set to anything."""

    @property
    def channel_options(self) -> tuple[tuple[str, int | str], ...]:
        """The settings of gRPC. Its own pauses between attempts to connect would grow to two minutes; these stay below the
        waits between the attempts of a call. A client of a server on this machine is back within a second of its start."""
        longest = _LOCAL_BACKOFF_MS if self.local else _BACKOFF_MS
        return (*_CHANNEL_OPTIONS, ("grpc.max_reconnect_backoff_ms", longest))

    @property
    def sender(self) -> str:
        """The agent that the server takes this client for, as far as can be told: a key without one is the operator's."""
        return self.agent_id or "operator"

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        pairs = []
        if self.api_key is not None:
            pairs.append(("x-api-key", self.api_key))
        if self.agent_id is not None:
            pairs.append(("x-agent-id", self.agent_id))
        return tuple(pairs)


def resolve(
    environment: Mapping[str, str],
    server: str | None,
    api_key: str | None,
    agent_id: str | None,
    tls: bool | None,
    ca_file: str | os.PathLike[str] | None = None,
    intent_id: str | None = None,
) -> Settings:
    """Resolves the settings. `server` is `host:port`; with `https://` before it TLS is on, with `http://` it is off, unless
    `tls` says otherwise. `ca_file` turns it on too. A server on this machine gets the development key when no other is
    given. Empty text in the environment counts as unset. Raises InvalidArgumentError for an address that is none, for an
    empty `api_key` or `agent_id`, and for a file without certificates."""
    warn_of_misspelt(environment)
    _not_empty("api_key", "the key", api_key)
    _not_empty("agent_id", "the agent's id", agent_id)
    _not_empty("intent_id", "the intent's id", intent_id)
    setting = "server" if server else "OPENINTENT_SERVER"
    address = read_address(setting, server or environment.get("OPENINTENT_SERVER") or DEFAULT_SERVER)
    if tls is None:
        tls = address.tls
    trusted = "ca_file" if ca_file else "OPENINTENT_CA_FILE"
    ca_file = ca_file or environment.get("OPENINTENT_CA_FILE") or None
    if tls is None:
        tls = _encrypted_by_default(environment.get("OPENINTENT_TLS", "")) or ca_file is not None
    default_key = DEVELOPMENT_KEY if address.is_loopback else None
    return Settings(
        target=address.target,
        tls=tls,
        api_key=api_key or environment.get("OPENINTENT_API_KEY") or default_key,
        agent_id=_agent(agent_id, environment),
        intent_id=intent_id or environment.get("OPENINTENT_INTENT_ID") or None,
        local=address.is_loopback,
        certificates=_certificates(trusted, ca_file) if tls and ca_file else None,
        exchanges=bool(environment.get("OPENINTENT_TEST_EXCHANGES")),
    )


def acting_as(settings: Settings, agent_id: str) -> Settings:
    """Returns the same settings for a client that acts as an agent. Raises InvalidArgumentError for what is no agent's
    id."""
    _not_empty("agent", "the agent's id", agent_id)
    if problem := agent_id_problem(agent_id):
        raise bad_setting("agent", problem)
    return replace(settings, agent_id=agent_id)


def _agent(given: str | None, environment: Mapping[str, str]) -> str | None:
    agent_id = given or environment.get("OPENINTENT_AGENT_ID") or None
    if agent_id is not None and (problem := agent_id_problem(agent_id)):
        raise bad_setting("agent_id" if given else "OPENINTENT_AGENT_ID", problem)
    return agent_id


def _not_empty(setting: str, what: str, given: str | None) -> None:
    if given is not None and not given.strip():
        raise bad_setting(setting, f"is empty: give {what}, or leave it out, so that the environment decides")


def _certificates(setting: str, path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            certificates = file.read()
    except OSError as error:
        raise bad_setting(setting, f"must name a file with certificates, and it cannot be read: {error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in certificates:
        raise bad_setting(setting, f"must name a file with certificates in PEM form, and {os.fspath(path)} has none")
    return certificates


def _encrypted_by_default(text: str) -> bool:
    """Whether connections are encrypted when nothing but OPENINTENT_TLS says it."""
    if text.lower() not in ("", "0", "false", "1", "true"):
        raise bad_setting("OPENINTENT_TLS", f"must be 1 or 0, not {text!r}")
    return text.lower() in ("1", "true")
