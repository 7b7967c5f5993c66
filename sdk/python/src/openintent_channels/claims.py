"""Claims on messages, as contexts: while one holds a claim, others leave the message to one."""

from __future__ import annotations

import asyncio
import sys
import threading
from dataclasses import dataclass
from types import TracebackType

from ._async_running import AsyncRunner
from ._conversation import Conversation, Held
from ._running import Runner
from .errors import ClaimLostError, OpenIntentError


@dataclass(slots=True)
class Place:
    """Where replies to a message find the fence of the claim that is held on it."""

    fence: int | None = None


class _Claimed:
    """What both kinds of claims know."""

    def __init__(
        self, rules: Conversation, channel_id: str, message_id: str, ttl: int, place: Place | None
    ) -> None:
        self._rules = rules
        self._asked_for = (channel_id, message_id, ttl)
        self._taken: Held | None = None
        self._lost: ClaimLostError | None = None
        self._place = place or Place()
        self.message_id = message_id

    @property
    def _held(self) -> Held:
        if self._taken is None:
            raise RuntimeError("the claim is held only within its block")
        return self._taken

    @property
    def fence(self) -> int:
        """A number that rises with each claim of the message. A reply under the claim sends it along."""
        return self._held.fence

    @property
    def lost(self) -> bool:
        """Whether it ended before its block did, and not by an answer."""
        return self._lost is not None

    def check(self) -> None:
        """Raises ClaimLostError if it is lost."""
        if self._lost is not None:
            raise self._lost

    def _take(self, held: Held) -> None:
        self._taken, self._place.fence = held, held.fence


class Claim(_Claimed):
    """A claim of a blocking program: `with channel.claim(message) as claim:`. A thread renews it until the block ends, which
    releases it, unless an answer ended it before. Python cannot stop a block from outside, so ask `lost`, or call `check()`,
    before a step that needs the claim. A block that ends well although its claim is lost raises ClaimLostError."""

    def __init__(
        self,
        connection: Runner,
        rules: Conversation,
        channel_id: str,
        message_id: str,
        ttl: int,
        place: Place | None = None,
    ) -> None:
        super().__init__(rules, channel_id, message_id, ttl, place)
        self._connection = connection
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="openintent-claim", daemon=True)

    def __enter__(self) -> Claim:
        self._take(self._connection.run(self._rules.claim(*self._asked_for)))
        self._renewing.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._renewing.join()
        self._place.fence = None
        try:
            self._connection.run(self._rules.release(self._held))
        except OpenIntentError:
            if kind is None and not self.lost:
                raise
        if kind is None:
            self.check()

    def _renew(self) -> None:
        while not self._ended.wait(self._held.renew_in(self._rules.calls.clock())):
            try:
                if not self._connection.run(self._rules.renew(self._held)):
                    return
            except ClaimLostError as lost:
                self._lost = lost
                return


class AsyncClaim(_Claimed):
    """A claim for asyncio: `async with channel.claim(message) as claim:`. It renews itself until the block ends, and is then
    released, unless an answer ended it before. If it is lost, the block is cancelled and raises ClaimLostError."""

    def __init__(
        self,
        connection: AsyncRunner,
        rules: Conversation,
        channel_id: str,
        message_id: str,
        ttl: int,
        place: Place | None = None,
    ) -> None:
        super().__init__(rules, channel_id, message_id, ttl, place)
        self._connection = connection
        self._renewing: asyncio.Task[None] | None = None
        self._block: asyncio.Task[object] | None = None
        self._cancelling = 0

    async def __aenter__(self) -> AsyncClaim:
        self._take(await self._connection.run(self._rules.claim(*self._asked_for)))
        self._block = asyncio.current_task()
        if self._block is not None and sys.version_info >= (3, 11):
            self._cancelling = self._block.cancelling()
        self._renewing = asyncio.create_task(self._renew())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        self._place.fence = None
        stopped = self.lost and self._is_own_cancellation()
        try:
            await self._connection.run(self._rules.release(self._held))
        except OpenIntentError:
            if kind is None and not self.lost:
                raise
        if kind is None or (stopped and kind is asyncio.CancelledError):
            self.check()

    def _is_own_cancellation(self) -> bool:
        """Takes back the cancellation of the block. Returns whether nobody else wants the block to end. Python 3.10 cannot
        tell, so there a lost claim counts as the reason."""
        if self._block is None or sys.version_info < (3, 11):
            return True
        return self._block.uncancel() <= self._cancelling

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._held.renew_in(self._rules.calls.clock()))
            try:
                if not await self._connection.run(self._rules.renew(self._held)):
                    return
            except ClaimLostError as lost:
                self._lost = lost
                if self._block is not None:
                    self._block.cancel()
                return
