"""A message as a handler gets it, for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._async_conversation_calls import AsyncConversationCalls
from ._async_holding import AsyncClaim
from ._conversation import DEFAULT_TTL
from ._received import AsyncReply, ReceivedMessage
from .conversations import Reaction, Thread
from .models import Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import ReplyOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage(ReceivedMessage):
    """A message for an async handler."""

    answer: AsyncReply = field(repr=False, compare=False)
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
