"""Who and what is there: the records of agents, the roles that they hold, and pages of lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._generated import agents_pb2, intents_pb2
from ._words import word
from .models import Intent, intent_of, optional_time, time_of


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What the server knows of an agent. `status` is `registering`, `active`, `draining`, `unhealthy`, `dead` or
    `deregistered`; `status_note` is what the agent says that it is doing."""

    id: str
    role: str | None
    name: str | None
    status: str
    status_note: str | None
    capabilities: tuple[str, ...]
    registered_at: datetime
    last_heartbeat_at: datetime | None


@dataclass(frozen=True, slots=True)
class AgentPage:
    """A page of agents, by id. `next_cursor` goes on; it is None on the last page. `total` is how many there are in all, and
    ends at 10,000."""

    agents: tuple[AgentRecord, ...]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class IntentPage:
    """A page of the intents that the caller may read, oldest first unless asked otherwise. `next_cursor` goes on; it is None
    on the last page. `total` is how many there are in all, and ends at 10,000."""

    intents: tuple[Intent, ...]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Role:
    """A role, and the ids of the active agents that hold it. Messages to `role:ROLE` reach them."""

    id: str
    agents: tuple[str, ...]


def agent_of(wire: agents_pb2.Agent) -> AgentRecord:
    """Reads an agent's record from the wire."""
    return AgentRecord(
        id=wire.agent_id,
        role=wire.role_id or None,
        name=wire.name or None,
        status=word(agents_pb2.AgentStatus, "AGENT_STATUS_", wire.status),
        status_note=wire.status_note or None,
        capabilities=tuple(wire.capabilities),
        registered_at=time_of(wire.registered_at),
        last_heartbeat_at=optional_time(wire, "last_heartbeat_at"),
    )


def agent_page_of(wire: agents_pb2.ListAgentsResponse) -> AgentPage:
    """Reads a page of agents from the wire."""
    return AgentPage(tuple(agent_of(agent) for agent in wire.agents), wire.total, wire.next_cursor or None)


def intent_page_of(wire: intents_pb2.ListIntentsResponse) -> IntentPage:
    """Reads a page of intents from the wire."""
    return IntentPage(tuple(intent_of(intent) for intent in wire.intents), wire.total, wire.next_cursor or None)
