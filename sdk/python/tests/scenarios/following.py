"""The messages that an actor has got by following a channel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from openintent_channels import Message


class Following:
    """The messages that a follower has got so far."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.end: Awaitable[None] | None = None
        self._changed = asyncio.Event()

    def take(self, message: Message) -> None:
        """Adds a message."""
        self.messages.append(message)
        self._changed.set()

    async def reach(self, count: int) -> None:
        """Waits until that many came."""
        while len(self.messages) < count:
            self._changed.clear()
            await self._changed.wait()
