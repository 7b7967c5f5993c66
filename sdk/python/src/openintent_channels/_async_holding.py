"""What a block holds, a claim or a lease, for asyncio."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from ._async_running import AsyncRunner
from ._awaiting import Beside
from ._conversation import Conversation, Place
from ._effects import Steps
from ._leases import Leases
from .errors import ClaimLostError, LeaseLostError, OpenIntentError


class Held(Protocol):
    """What was granted, for a time."""

    @property
    def fence(self) -> int: ...

    def renew_in(self, now: float) -> float: ...


H = TypeVar("H", bound=Held)


class AsyncBlock(Generic[H]):
    """A block of `async with` that takes something, renews it while it goes on, and gives it back at its end."""

    def __init__(
        self,
        connection: AsyncRunner,
        what: str,
        clock: Callable[[], float],
        taking: Callable[[], Steps[H]],
        renewing: Callable[[H], Steps[bool]],
        releasing: Callable[[H], Steps[Any]],
    ) -> None:
        self._connection = connection
        self._what = what
        self._clock = clock
        self._taking, self._renewing, self._releasing = taking, renewing, releasing
        self._taken: H | None = None
        self._lost: OpenIntentError | None = None
        self._beside = Beside(f"openintent-{what}")

    @property
    def held(self) -> H:
        """What it holds. Raises RuntimeError before it has begun."""
        if self._taken is None:
            raise RuntimeError(f"the {self._what} is held only within its block")
        return self._taken

    @property
    def lost(self) -> bool:
        """Whether what it holds was lost."""
        return self._lost is not None

    def check(self) -> None:
        """Raises the error with which it was lost, if it was."""
        if self._lost is not None:
            raise self._lost

    async def begin(self) -> H:
        """Takes what it holds, and renews it from then on."""
        held = self._taken = await self._connection.run(self._taking())
        self._lost = None
        self._beside.begin(self._renew)
        return held

    async def end(self, kind: type[BaseException] | None) -> None:
        """Gives back what it holds. `kind` is the kind of the exception that ended the block."""
        await self._beside.end()
        stopped = self.lost and self._beside.has_stopped_block(kind)
        try:
            await self._connection.run(self._releasing(self.held))
        except OpenIntentError:
            if kind is None and not self.lost:
                raise
        if kind is None or stopped:
            self.check()

    async def _renew(self) -> None:
        while await self._beside.goes_on_after(self.held.renew_in(self._clock())):
            try:
                if not await self._connection.run(self._renewing(self.held)):
                    return
            except (ClaimLostError, LeaseLostError) as lost:
                self._lost = lost
                self._beside.stop_block()
                return


class AsyncClaim:
    """A claim for asyncio: `async with channel.claim(message) as claim:`.
    It renews itself until the block ends, and is then released, unless an answer ended it before.
    If it is lost, the block is cancelled and raises ClaimLostError."""

    def __init__(
        self,
        connection: AsyncRunner,
        rules: Conversation,
        channel_id: str,
        message_id: str,
        ttl: int,
        place: Place | None = None,
    ) -> None:
        taking = partial(rules.claim, channel_id, message_id, ttl)
        self._block = AsyncBlock(connection, "claim", rules.calls.clock, taking, rules.renew, rules.release)
        self._place = place or Place()
        self.message_id = message_id

    @property
    def fence(self) -> int:
        """A number that rises with each claim of the message. A reply under the claim sends it along."""
        return self._block.held.fence

    @property
    def lost(self) -> bool:
        """Whether it ended before its block did, and not by an answer."""
        return self._block.lost

    def check(self) -> None:
        """Raises ClaimLostError if it is lost."""
        self._block.check()

    async def __aenter__(self) -> AsyncClaim:
        self._place.fence = (await self._block.begin()).fence
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._place.fence = None
        await self._block.end(kind)


class AsyncLease:
    """A lease for asyncio: `async with client.lease(intent_id, scope) as lease:`.
    It renews itself until the block ends, and is then released.
    If it is lost, the block is cancelled and raises LeaseLostError."""

    def __init__(
        self,
        connection: AsyncRunner,
        rules: Leases,
        intent_id: str,
        scope: str,
        duration_seconds: int,
        wait_seconds: int,
    ) -> None:
        taking = partial(rules.acquire, intent_id, scope, duration_seconds, wait_seconds)
        self._block = AsyncBlock(connection, "lease", rules.calls.clock, taking, rules.renew, rules.release)
        self.intent_id = intent_id
        self.scope = scope

    @property
    def id(self) -> str:
        """Its id."""
        return self._block.held.id

    @property
    def fence(self) -> int:
        """A number that rises with each lease of the intent. Send it along to what the scope protects, which then can refuse
        a holder whose lease has ended without its knowing."""
        return self._block.held.fence

    @property
    def lost(self) -> bool:
        """Whether it ended before its block did."""
        return self._block.lost

    def check(self) -> None:
        """Raises LeaseLostError if it is lost."""
        self._block.check()

    async def __aenter__(self) -> AsyncLease:
        await self._block.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._block.end(kind)
