# Generated from _async_agent_message.py by generate_blocking.py; edit that.
"""A message as a handler gets it, for blocking programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._conversation import DEFAULT_TTL
from ._conversation_calls import ConversationCalls
from ._holding import Claim
from ._received import ReceivedMessage, Reply
from .conversations import Reaction, Thread
from .models import Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import ReplyOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingAgentMessage(ReceivedMessage):
    """A message for a plain handler, which runs in a thread."""

    answer: Reply = field(repr=False, compare=False)
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
