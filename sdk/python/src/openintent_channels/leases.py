"""Scopes that nobody else holds, as contexts."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import TracebackType

from ._async_running import AsyncConnection
from ._leases import Held, Leases
from ._running import Connection
from .errors import LeaseLostError, OpenIntentError


class _Scope:
    """What both kinds of leases know."""

    def __init__(self, rules: Leases, intent_id: str, scope: str, duration_seconds: int, wait_seconds: int) -> None:
        self._rules = rules
        self._asked_for = (intent_id, scope, duration_seconds, wait_seconds)
        self._granted: Held | None = None
        self._lost: LeaseLostError | None = None
        self.intent_id = intent_id
        self.scope = scope

    @property
    def _held(self) -> Held:
        if self._granted is None:
            raise RuntimeError("the lease is held only within its block")
        return self._granted

    @property
    def id(self) -> str:
        """Its id."""
        return self._held.id

    @property
    def fence(self) -> int:
        """A number that rises with each lease of the intent. Send it along to what the scope protects, which then can refuse
        a holder whose lease has ended without its knowing."""
        return self._held.fence

    @property
    def lost(self) -> bool:
        """Whether it ended before its block did."""
        return self._lost is not None

    def check(self) -> None:
        """Raises LeaseLostError if it is lost."""
        if self._lost is not None:
            raise self._lost


class Lease(_Scope):
    """A lease of a blocking program: `with client.lease(intent_id, scope) as lease:`. A thread renews it until the block
    ends, which releases it. Python cannot stop a block from outside, so ask `lost`, or call `check()`, before a step that
    needs the lease. A block that ends well although its lease is lost raises LeaseLostError."""

    def __init__(
        self,
        connection: Connection,
        rules: Leases,
        intent_id: str,
        scope: str,
        duration_seconds: int,
        wait_seconds: int,
    ) -> None:
        super().__init__(rules, intent_id, scope, duration_seconds, wait_seconds)
        self._connection = connection
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="openintent-lease", daemon=True)

    def __enter__(self) -> Lease:
        self._granted = self._connection.run(self._rules.acquire(*self._asked_for))
        self._renewing.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._renewing.join()
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
                self._connection.run(self._rules.renew(self._held))
            except LeaseLostError as lost:
                self._lost = lost
                return


class AsyncLease(_Scope):
    """A lease for asyncio: `async with client.lease(intent_id, scope) as lease:`. It renews itself until the block ends, and
    is then released. If it is lost before, the block is cancelled and raises LeaseLostError."""

    def __init__(
        self,
        connection: AsyncConnection,
        rules: Leases,
        intent_id: str,
        scope: str,
        duration_seconds: int,
        wait_seconds: int,
    ) -> None:
        super().__init__(rules, intent_id, scope, duration_seconds, wait_seconds)
        self._connection = connection
        self._renewing: asyncio.Task[None] | None = None
        self._block: asyncio.Task[object] | None = None
        self._cancelling = 0

    async def __aenter__(self) -> AsyncLease:
        self._granted = await self._connection.run(self._rules.acquire(*self._asked_for))
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
        tell, so there a lost lease counts as the reason."""
        if self._block is None or sys.version_info < (3, 11):
            return True
        return self._block.uncancel() <= self._cancelling

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._held.renew_in(self._rules.calls.clock()))
            try:
                await self._connection.run(self._rules.renew(self._held))
            except LeaseLostError as lost:
                self._lost = lost
                if self._block is not None:
                    self._block.cancel()
                return
