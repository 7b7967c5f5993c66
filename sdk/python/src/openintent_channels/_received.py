"""What an agent receives: as the server delivers it, and as handlers get it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ._generated import messages_pb2
from .models import Message

Reply = Callable[[Any, Mapping[str, Any] | None], Awaitable[Message | None]]


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it was delivered, with where it came from."""

    wire: messages_pb2.Message
    intent_id: str
    channel_name: str
    position: int | None
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage(Message):
    """A message with where it comes from. `attempt` counts its deliveries, from 1; a repetition has the same `id`."""

    is_message: ClassVar[bool] = True

    intent_id: str
    channel_name: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage(ReceivedMessage):
    """A message for an async handler."""

    answer: Reply = field(repr=False, compare=False)

    async def reply(self, payload: Any, metadata: Mapping[str, Any] | None = None) -> Message | None:
        """Answers at once, before or besides what the handler returns. Returns None when another answer was stored in its
        place before a crash."""
        return await self.answer(payload, metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingAgentMessage(ReceivedMessage):
    """A message for a plain handler, which runs in a thread."""

    answer: Callable[[Any, Mapping[str, Any] | None], Message | None] = field(repr=False, compare=False)

    def reply(self, payload: Any, metadata: Mapping[str, Any] | None = None) -> Message | None:
        """Answers at once, before or besides what the handler returns. Returns None when another answer was stored in its
        place before a crash."""
        return self.answer(payload, metadata)
