"""What an agent says about messages that it attends to: that it surfaced them, and what it did with them."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from ._agent_log import logger
from ._async_running import AsyncConnection
from ._conversation import Conversation
from ._effects import Pause
from ._received import Received
from .errors import OpenIntentError, UnauthenticatedError

_GATHERING = 0.1
"""How many seconds the first message waits for more, so that one call tells of many."""

_PAGE = 1_000
_MOST_WAITING = 10_000
"""How much waits to be told at most. Beyond that the oldest is forgotten."""


@dataclass(slots=True)
class Reporting:
    """Tells the server in the background. No handler waits for it, and what a crash loses is lost."""

    connection: AsyncConnection
    conversation: Conversation
    agent_id: str
    _surfaced: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    _disposed: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    def surfaced(self, received: Received) -> None:
        """Notes that a handler begins with a message."""
        self._surfaced.append(received.wire.id)
        self._some.set()

    def disposed(self, received: Received, disposition: str) -> None:
        """Notes what became of a message."""
        self._disposed.append((received.wire.channel_id, received.wire.id, disposition))
        self._some.set()

    async def report_for_ever(self) -> None:
        """Tells of what is noted, for as long as the agent runs."""
        while True:
            await self._some.wait()
            await self.connection.perform(Pause(_GATHERING))
            self._some.clear()
            await self.report()

    async def report(self) -> None:
        """Tells of what is noted now."""
        while self._surfaced:
            await self._surface([self._surfaced.popleft() for _ in range(min(_PAGE, len(self._surfaced)))])
        while self._disposed:
            await self._dispose(*self._disposed.popleft())

    async def _surface(self, ids: list[str]) -> None:
        """Marks messages. The server marks all or none, so a page that has a message which is gone is told in halves."""
        try:
            await self.connection.run(self.conversation.surface(self.agent_id, ids))
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            logger.debug("messages %s were not marked as surfaced: %s", ids, error)
            if len(ids) > 1 and error.code in ("NOT_FOUND", "FAILED_PRECONDITION", "PERMISSION_DENIED"):
                half = len(ids) // 2
                await self._surface(ids[:half])
                await self._surface(ids[half:])

    async def _dispose(self, channel_id: str, message_id: str, disposition: str) -> None:
        try:
            await self.connection.run(self.conversation.dispose(channel_id, message_id, disposition, None, None))
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            logger.debug("message %s was not disposed of as %s: %s", message_id, disposition, error)
