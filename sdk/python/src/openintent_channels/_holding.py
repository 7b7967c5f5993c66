# Generated from _async_holding.py by generate_blocking.py; edit that.
"""What a block holds, a claim or a lease, for blocking programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from ._blocking import Beside
from ._conversation import Conversation, Place
from ._effects import Steps
from ._leases import Leases
from ._running import Runner
from .errors import ClaimLostError, LeaseLostError, OpenIntentError


class Held(Protocol):
    """What was granted, for a time."""

    @property
    def fence(self) -> int: ...

    def renew_in(self, now: float) -> float: ...


H = TypeVar("H", bound=Held)


class Block(Generic[H]):
    """A block of `with` that takes something, renews it while it goes on, and gives it back at its end."""

    def __init__(
        self,
        connection: Runner,
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

    def begin(self) -> H:
        """Takes what it holds, and renews it from then on."""
        held = self._taken = self._connection.run(self._taking())
        self._lost = None
        self._beside.begin(self._renew)
        return held

    def end(self, kind: type[BaseException] | None) -> None:
        """Gives back what it holds. `kind` is the kind of the exception that ended the block."""
        self._beside.end()
        stopped = self.lost and self._beside.has_stopped_block(kind)
        try:
            self._connection.run(self._releasing(self.held))
        except OpenIntentError:
            if kind is None and not self.lost:
                raise
        if kind is None or stopped:
            self.check()

    def _renew(self) -> None:
        while self._beside.goes_on_after(self.held.renew_in(self._clock())):
            try:
                if not self._connection.run(self._renewing(self.held)):
                    return
            except (ClaimLostError, LeaseLostError) as lost:
                self._lost = lost
                self._beside.stop_block()
                return


class Claim:
    """A claim for blocking programs: `with channel.claim(message) as claim:`.
    A thread renews it until the block ends, which releases it, unless an answer ended it before.
    Python cannot stop a block from outside, so ask `lost`, or call `check()`, before a step that needs it.
    A block that ends well although it is lost raises ClaimLostError."""

    def __init__(
        self,
        connection: Runner,
        rules: Conversation,
        channel_id: str,
        message_id: str,
        ttl: int,
        place: Place | None = None,
    ) -> None:
        taking = partial(rules.claim, channel_id, message_id, ttl)
        self._block = Block(connection, "claim", rules.calls.clock, taking, rules.renew, rules.release)
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

    def __enter__(self) -> Claim:
        self._place.fence = (self._block.begin()).fence
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._place.fence = None
        self._block.end(kind)


class Lease:
    """A lease for blocking programs: `with client.lease(intent_id, scope) as lease:`.
    A thread renews it until the block ends, which releases it.
    Python cannot stop a block from outside, so ask `lost`, or call `check()`, before a step that needs it.
    A block that ends well although it is lost raises LeaseLostError."""

    def __init__(
        self,
        connection: Runner,
        rules: Leases,
        intent_id: str,
        scope: str,
        duration_seconds: int,
        wait_seconds: int,
    ) -> None:
        taking = partial(rules.acquire, intent_id, scope, duration_seconds, wait_seconds)
        self._block = Block(connection, "lease", rules.calls.clock, taking, rules.renew, rules.release)
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

    def __enter__(self) -> Lease:
        self._block.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._block.end(kind)
