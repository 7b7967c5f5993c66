"""Leases: how a scope is asked for, renewed in time and given back."""

from __future__ import annotations

from dataclasses import dataclass

from . import _methods as methods
from ._calls import Calls
from ._effects import Steps
from ._generated import leases_pb2
from ._retrying import Deadline, never_began
from .errors import LeaseLostError, NotFoundError, OpenIntentError

RENEWALS = 3
"""How often a lease is renewed in its duration."""


@dataclass(slots=True)
class Held:
    """A lease that was granted. `asked` is when its last term was asked for, so it lasts from then on at least."""

    intent_id: str
    id: str
    fence: int
    duration: int
    asked: float

    def renew_in(self, now: float) -> float:
        """Returns the seconds until it has to be renewed."""
        return max(0.0, self.asked + self.duration / RENEWALS - now)


@dataclass(slots=True)
class Leases:
    """The rules of leases."""

    calls: Calls

    def acquire(self, intent_id: str, scope: str, duration_seconds: int, wait_seconds: int) -> Steps[Held]:
        """Leases a scope. The call carries no key, so it is made again only if it certainly never began."""
        request = leases_pb2.AcquireLeaseRequest(
            intent_id=intent_id, scope=scope, duration_seconds=duration_seconds, wait_seconds=wait_seconds
        )
        asked = self.calls.clock()
        deadline = self.calls.deadline(self.calls.patience + wait_seconds)
        granted = yield from self.calls.call(methods.ACQUIRE_LEASE, request, deadline=deadline, retried=never_began)
        if wait_seconds:
            # The server granted it at some time of the wait, so it is renewed at once to know its time.
            asked = self.calls.clock() - duration_seconds / RENEWALS
        return Held(intent_id, granted.id, granted.fence, duration_seconds, asked)

    def renew(self, held: Held) -> Steps[bool]:
        """Renews a lease, and returns True. Raises LeaseLostError when it has ended, or may be over before an answer
        comes."""
        request = leases_pb2.RenewLeaseRequest(
            intent_id=held.intent_id, lease_id=held.id, duration_seconds=held.duration
        )
        asked = self.calls.clock()
        deadline = Deadline(self.calls.clock, held.asked + held.duration, held.duration)
        try:
            yield from self.calls.call(methods.RENEW_LEASE, request, deadline=deadline)
        except OpenIntentError as error:
            raise LeaseLostError(
                f"The lease is lost: {error.message}", code=error.code, reason="LEASE_LOST", metadata=error.metadata
            ) from error
        held.asked = asked
        return True

    def release(self, held: Held) -> Steps[None]:
        """Gives a lease back. It is not an error when it has ended before."""
        request = leases_pb2.ReleaseLeaseRequest(intent_id=held.intent_id, lease_id=held.id)
        try:
            yield from self.calls.call(methods.RELEASE_LEASE, request)
        except NotFoundError:
            return
