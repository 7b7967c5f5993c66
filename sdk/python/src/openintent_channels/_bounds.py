"""Names and sizes are checked before anything is sent, by the bounds that the contract gives and the server checks. What a
server's settings bound, such as the length of a channel's name and the size of a payload, the server alone knows."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf.message import Message as Wire

from ._basic_errors import InvalidArgumentError, Violation

_LONGEST_AGENT_ID = 256

# A test of the Go SDK compares this table with the contract, and writes it.
BOUNDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "AcquireLeaseRequest": {
        "scope": (1, 256),
        "agent_id": (0, 256),
    },
    "AddReactionRequest": {
        "note": (0, 200),
        "eta": (0, 200),
        "agent_id": (0, 256),
    },
    "AskAllRequest": {
        "sender": (0, 256),
        "to": (1, 261),
        "idempotency_key": (1, 255),
        "parent_id": (1, 128),
        "subject": (1, 200),
        "kind": (1, 64),
        "task_id": (1, 128),
    },
    "AskRequest": {
        "sender": (0, 256),
        "to": (1, 261),
        "idempotency_key": (1, 255),
        "parent_id": (1, 128),
        "subject": (1, 200),
        "kind": (1, 64),
        "task_id": (1, 128),
    },
    "ClaimMessageRequest": {
        "idempotency_key": (1, 255),
    },
    "CreateChannelRequest": {
        "task_id": (0, 128),
        "created_by": (0, 256),
    },
    "CreateIntentRequest": {
        "title": (1, 1024),
        "description": (0, 65536),
        "created_by": (0, 256),
        "parent_intent_id": (0, 128),
        "parent_id": (0, 128),
    },
    "DischargeObligationRequest": {
        "note": (0, 200),
    },
    "ListAgentsRequest": {
        "role_id": (0, 256),
        "cursor": (0, 4096),
    },
    "ListIntentsRequest": {
        "cursor": (0, 4096),
    },
    "ListMessagesRequest": {
        "since": (0, 128),
        "to": (0, 256),
        "correlation_id": (0, 128),
        "thread_id": (0, 128),
        "kind": (0, 64),
    },
    "RegisterAgentRequest": {
        "agent_id": (1, 256),
        "role_id": (0, 256),
        "name": (0, 256),
        "endpoint": (0, 2048),
        "takes_part_in": (1, 256),
    },
    "ReplyMessageRequest": {
        "sender": (0, 256),
        "idempotency_key": (1, 255),
        "subject": (1, 200),
        "kind": (1, 64),
        "task_id": (1, 128),
        "parent_id": (1, 128),
    },
    "SearchMessagesRequest": {
        "q": (1, 256),
        "intent_id": (0, 256),
        "channel_id": (0, 256),
        "thread_id": (0, 256),
        "sender": (0, 256),
        "to": (0, 256),
        "kind": (0, 64),
        "cursor": (0, 4096),
    },
    "SendMessageRequest": {
        "sender": (0, 256),
        "to": (0, 261),
        "correlation_id": (0, 128),
        "idempotency_key": (1, 255),
        "parent_id": (1, 128),
        "subject": (1, 200),
        "kind": (1, 64),
        "task_id": (1, 128),
        "replaces": (0, 128),
    },
    "SetDispositionRequest": {
        "reason": (1, 200),
    },
    "SetIntentStatusRequest": {
        "reason": (0, 4096),
    },
}
"""The fewest and the most characters of the texts of each request."""


def check(request: Any) -> None:
    """Raises InvalidArgumentError for a request with a text that is too short or too long."""
    for name, optional, least, most in _bounded(request.__class__):
        if request.HasField(name) if optional else getattr(request, name):
            length = len(getattr(request, name))
            if not least <= length <= most:
                raise bad_field(name, f"has {length} characters; use {least} to {most}")


@cache
def _bounded(kind: type[Wire]) -> tuple[tuple[str, bool, int, int], ...]:
    """Returns the texts of a kind of request, whether each may be absent, and its bounds."""
    fields = kind.DESCRIPTOR.fields_by_name
    bounds = BOUNDS.get(kind.DESCRIPTOR.name, {})
    return tuple((name, fields[name].has_presence, least, most) for name, (least, most) in bounds.items())


def agent_id_problem(agent_id: str) -> str | None:
    """Returns why no agent can be called that; None when one can. The id travels with each call as metadata, which holds
    printable ASCII alone."""
    if len(agent_id) > _LONGEST_AGENT_ID:
        return f"has {len(agent_id)} characters; use 1 to {_LONGEST_AGENT_ID}"
    if "/" in agent_id:
        return "may not contain a slash"
    if not (agent_id.isascii() and agent_id.isprintable()):
        return "must consist of printable ASCII characters"
    if agent_id in ("operator", "system", "*") or agent_id.startswith("role:"):
        return f"{agent_id!r} is reserved and cannot be an agent's; to act as the operator, name no agent"
    return None


def check_channel_name(name: str) -> None:
    """Raises InvalidArgumentError for what cannot be a channel's name, but for its length, which the server bounds."""
    if not name.strip():
        raise bad_field("name", "must hold at least one character that is not white space")
    if "/" in name:
        raise bad_field("name", "may not contain a slash")
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise bad_field("name", "may not contain control characters")
    if name == "_system":
        raise bad_field("name", "is that of the server's own channel; choose another name")


def bad_field(name: str, problem: str) -> InvalidArgumentError:
    """The refusal of a field of a request."""
    return InvalidArgumentError(
        f"{name} {problem}.", code="INVALID_ARGUMENT", reason="INVALID_FIELD", violations=[Violation(name, problem)]
    )
