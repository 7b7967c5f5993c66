"""The places of requests that take a certain number of answers: an agent claims one before it calls a handler."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ._agent_log import AgentLog
from ._async_running import AsyncConnection
from ._conversation import DEFAULT_TTL, Conversation, Held
from ._effects import Pause
from ._received import Received
from .errors import ClaimLostError, OpenIntentError, UnauthenticatedError

_LEAVING = "AGENT_LEAVING"
_OVER = ("FAILED_PRECONDITION", "NOT_FOUND", "PERMISSION_DENIED", "INVALID_ARGUMENT")


@dataclass(slots=True)
class Kept:
    """A claimed place. `renewing` renews it, and ends with True when it is lost, or with False when an answer ended it."""

    held: Held
    renewing: asyncio.Task[bool]


@dataclass(slots=True)
class Places:
    """Claims places, keeps them, and gives them back."""

    connection: AsyncConnection
    conversation: Conversation
    log: AgentLog

    async def take(self, received: Received) -> Kept | bool:
        """Claims a place. Returns True when there is none now, and False when there never will be one, for example because
        the request is answered. The key lets a process that begins again after a crash go on with the claim that it had."""
        wire = received.wire
        claiming = self.conversation.claim(wire.channel_id, wire.id, DEFAULT_TTL, f"sdk-claim-{wire.id}")
        try:
            held = await self.connection.run(claiming)
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            if error.reason == _LEAVING:
                raise
            return error.code not in _OVER
        return Kept(held, asyncio.ensure_future(self._renew(received, held)))

    async def _renew(self, received: Received, held: Held) -> bool:
        while True:
            await self.connection.perform(Pause(held.renew_in(self.conversation.calls.clock())))
            try:
                if not await self.connection.run(self.conversation.renew(held)):
                    return False
            except ClaimLostError as error:
                self.log.claim_lost(received.channel_name, received.wire.id, error)
                return True

    async def give_back(self, kept: Kept, failed: bool) -> None:
        """Releases a claim; the sender learns that the agent failed. If the server cannot be told, the claim expires."""
        held = kept.held
        try:
            if failed:
                disposing = self.conversation.dispose(held.channel_id, held.message_id, "failed", None, None)
                await self.connection.run(disposing)
            await self.connection.run(self.conversation.release(held))
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            self.log.warn("could not release its claim on message %s: %s", held.message_id, error)
