"""What an agent receives: as the server delivers it, and as handlers get it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ._conversation import Place
from ._generated import messages_pb2, subscriptions_pb2
from .attention import Attention, given_attention
from .models import Message

AsyncReply = Callable[[Any, Mapping[str, Any] | None, Mapping[str, Any]], Awaitable[Message | None]]
Reply = Callable[[Any, Mapping[str, Any] | None, Mapping[str, Any]], Message | None]


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it was delivered, with where it came from, and what it asks of the agent if the agent wants to know."""

    wire: messages_pb2.Message
    intent_id: str
    channel_name: str
    position: int | None
    attempt: int
    attention: Attention | None = None
    source_ids: tuple[str, ...] = ()


def received_of(delivery: subscriptions_pb2.SubscriptionDelivery, agent_id: str) -> list[Received]:
    """Reads the messages of a delivery that an agent's handlers get, oldest first: none of an event, several that waited for
    their sender to pause. Several know the ids of all of them."""
    entries: list[Any] = [*delivery.earlier]
    if delivery.HasField("message"):
        entries.append(delivery)
    messages = [
        Received(
            entry.message, entry.intent_id, entry.channel_name, entry.position, delivery.attempt, given_attention(entry)
        )
        for entry in entries
    ]
    messages = [received for received in messages if is_for_handlers(received, agent_id)]
    if len(messages) <= 1:
        return messages
    ids = tuple(received.wire.id for received in messages)
    return [replace(received, source_ids=ids) for received in messages]


def is_for_handlers(received: Received, agent_id: str) -> bool:
    """Whether handlers get a message: they get neither responses nor the agent's own messages."""
    return received.wire.sender != agent_id and received.wire.message_type != messages_pb2.MESSAGE_TYPE_RESPONSE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage(Message):
    """A message with where it comes from. `attempt` counts its deliveries, from 1; a repetition has the same `id`.
    `source_ids` are the ids of the messages that came with one delivery, oldest first, this one among them, because they had
    waited for their sender to pause; it is empty for a message that came by itself."""

    intent_id: str
    channel_name: str
    attempt: int
    source_ids: tuple[str, ...] = ()
    place: Place = field(default_factory=Place, repr=False, compare=False)
