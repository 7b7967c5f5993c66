"""What an agent receives: as the server delivers it, and as handlers get it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ._async_conversation_calls import AsyncConversationCalls
from ._conversation import DEFAULT_TTL
from ._conversation_calls import ConversationCalls
from ._generated import messages_pb2, subscriptions_pb2
from .attention import Attention, given_attention
from .claims import AsyncClaim, Claim, Place
from .conversations import Reaction, Thread
from .models import Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import ReplyOptions

Reply = Callable[[Any, Mapping[str, Any] | None, Mapping[str, Any]], Awaitable[Message | None]]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage(ReceivedMessage):
    """A message for an async handler."""

    answer: Reply = field(repr=False, compare=False)
    calls: AsyncConversationCalls = field(repr=False, compare=False)

    async def reply(
        self, payload: Any, metadata: Mapping[str, Any] | None = None, **options: Unpack[ReplyOptions]
    ) -> Message | None:
        """Answers a request at once, before or besides what the handler returns. To any other message it sends its sender a
        notify message that has it as parent. Returns None when another answer was stored in its place before a crash."""
        return await self.answer(payload, metadata, options)

    async def thread(self) -> Thread:
        """Reads the whole thread of this message."""
        return await self.calls.get_thread(self.channel_id, self.id)

    async def react(self, signal: str, note: str | None = None, eta: str | None = None) -> list[Reaction]:
        """Reacts to this message, as the client's `add_reaction` does."""
        return await self.calls.add_reaction(self.channel_id, self.id, signal, note, eta)

    async def unreact(self, signal: str) -> list[Reaction]:
        """Takes a signal away, if it is there."""
        return await self.calls.remove_reaction(self.channel_id, self.id, signal)

    async def reactions(self) -> list[Reaction]:
        """Lists the reactions to this message."""
        return await self.calls.list_reactions(self.channel_id, self.id)

    def claim(self, ttl: int = DEFAULT_TTL) -> AsyncClaim:
        """Returns a context that holds a claim on this message; `reply` answers under it. A request that takes a certain
        number of answers is claimed before its handler is called, and needs no claim more."""
        return AsyncClaim(self.calls.connection, self.calls.conversation, self.channel_id, self.id, ttl, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingAgentMessage(ReceivedMessage):
    """A message for a plain handler, which runs in a thread."""

    answer: Callable[[Any, Mapping[str, Any] | None, Mapping[str, Any]], Message | None] = field(
        repr=False, compare=False
    )
    calls: ConversationCalls = field(repr=False, compare=False)

    def reply(
        self, payload: Any, metadata: Mapping[str, Any] | None = None, **options: Unpack[ReplyOptions]
    ) -> Message | None:
        """Answers a request at once, before or besides what the handler returns. To any other message it sends its sender a
        notify message that has it as parent. Returns None when another answer was stored in its place before a crash."""
        return self.answer(payload, metadata, options)

    def thread(self) -> Thread:
        """Reads the whole thread of this message."""
        return self.calls.get_thread(self.channel_id, self.id)

    def react(self, signal: str, note: str | None = None, eta: str | None = None) -> list[Reaction]:
        """Reacts to this message, as the client's `add_reaction` does."""
        return self.calls.add_reaction(self.channel_id, self.id, signal, note, eta)

    def unreact(self, signal: str) -> list[Reaction]:
        """Takes a signal away, if it is there."""
        return self.calls.remove_reaction(self.channel_id, self.id, signal)

    def reactions(self) -> list[Reaction]:
        """Lists the reactions to this message."""
        return self.calls.list_reactions(self.channel_id, self.id)

    def claim(self, ttl: int = DEFAULT_TTL) -> Claim:
        """Returns a context that holds a claim on this message; `reply` answers under it. A request that takes a certain
        number of answers is claimed before its handler is called, and needs no claim more."""
        return Claim(self.calls.connection, self.calls.conversation, self.channel_id, self.id, ttl, self.place)
