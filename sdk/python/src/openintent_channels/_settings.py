"""Where the server is and who the client is: arguments go first, then the environment, then the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._addresses import bad_setting, read_address

DEFAULT_SERVER = "127.0.0.1:50051"

DEVELOPMENT_KEY = "dev-key-001"
"""The key of a server that was started without keys. Such a server listens on its own machine alone, so this key is sent
nowhere else."""

# The settings of a connection. gRPC's own pauses between attempts to connect grow to two minutes; ours stay below the waits
# between the attempts of a call. A ping tells a dead connection from a quiet one; the server allows one every 10 seconds.
CHANNEL_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
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
) -> Settings:
    """Resolves the settings. `server` is `host:port`; with `https://` before it TLS is on, with `http://` it is off, unless
    `tls` says otherwise. A server on this machine gets the development key when no other is given. Empty text in the
    environment counts as unset. Raises InvalidArgumentError for an address that is none."""
    setting = "server" if server else "OPENINTENT_SERVER"
    address = read_address(setting, server or environment.get("OPENINTENT_SERVER") or DEFAULT_SERVER)
    if tls is None:
        tls = address.tls
    if tls is None:
        tls = _encrypted_by_default(environment.get("OPENINTENT_TLS", ""))
    default_key = DEVELOPMENT_KEY if address.is_loopback else None
    return Settings(
        target=address.target,
        tls=tls,
        api_key=api_key or environment.get("OPENINTENT_API_KEY") or default_key,
        agent_id=agent_id or environment.get("OPENINTENT_AGENT_ID") or None,
    )


def _encrypted_by_default(text: str) -> bool:
    """Whether connections are encrypted when nothing but OPENINTENT_TLS says it."""
    if text.lower() not in ("", "0", "false", "1", "true"):
        raise bad_setting("OPENINTENT_TLS", f"it must be 1 or 0, not {text!r}")
    return text.lower() in ("1", "true")
