"""One call, made until it succeeds: every other rule builds on this one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import random
from time import time_ns
from typing import Any

from google.protobuf.message import Message as Wire

from . import _pace
from ._bounds import bad_field, check
from ._effects import Invoke, Pause, Steps
from ._methods import Answer, Asked, Method
from ._retrying import PATIENCE, Deadline, Waits, is_passing
from ._securing import TLS_FAILED
from ._settings import DEFAULT_SERVER, LOCAL_CONNECT_SECONDS
from .errors import InvalidArgumentError, OpenIntentError, UnavailableError, Violation


def new_key() -> str:
    """Makes an idempotency key, so that a call that is made twice takes effect once.

    Keys begin with the time, so that those of one moment lie together in the server's index: a commit of many messages then
    changes few pages of it.
    """
    return f"{time_ns() // 1_000_000:x}-{os.urandom(12).hex()}"


def _always(_: OpenIntentError) -> bool:
    return True


def _nothing(_: OpenIntentError) -> None: ...


@dataclass(slots=True)
class Outage:
    """Says once that a client cannot reach its server, until a call succeeds."""

    told: bool = False

    def lasts(self, address: str, error: OpenIntentError) -> None:
        """An attempt has failed, and is made again."""
        if never_connected(error) and not self.told:
            self.told = True
            text = "a client cannot reach the server at %s and keeps trying: %s"
            logging.getLogger("openintent_channels").warning(text, address, error)


@dataclass(slots=True)
class Calls:
    """Makes calls as one sender. Tests pass in a clock, dice and keys of their own."""

    sender: str = "operator"
    address: str = DEFAULT_SERVER
    patience: float = PATIENCE
    local: bool = False
    """Whether the server is on this machine."""
    intent_id: str | None = None
    """The intent of calls that name none."""
    connect_timeout: float | None = None
    """How many seconds a call is tried for while there is no connection; None for what fits (see `time_to_connect`)."""
    reached: bool = False
    """Whether the server has ever answered."""
    outage: Outage | None = None
    """Says that the server cannot be reached; None when somebody else does."""
    clock: Callable[[], float] = _pace.now
    dice: Callable[[], float] = random
    key: Callable[[], str] = field(default=new_key)

    def intent(self, call: str, given: str | None) -> str:
        """Returns the intent that was given or, without one, the client's. Raises InvalidArgumentError without either, and
        for what is not an id, such as an Intent."""
        if given is not None and not isinstance(given, str):
            wrong = type(given).__name__
            raise bad_field("intent_id", f"must be the id of an intent, such as intent.id, and no {wrong}")
        if given or self.intent_id:
            return given or self.intent_id or ""
        problem = f"{call} needs an intent: give intent_id, or set OPENINTENT_INTENT_ID"
        raise InvalidArgumentError(problem, code="INVALID_ARGUMENT", violations=[Violation("intent_id", problem)])

    @property
    def time_to_connect(self) -> float | None:
        """How many seconds a call is tried for while there is no connection; None for no such bound. Where nobody has
        listened yet on this machine, nobody starts to by himself. A server that was there once may be starting again."""
        if self.connect_timeout is not None:
            return self.connect_timeout
        return LOCAL_CONNECT_SECONDS if self.local and not self.reached else None

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Returns the deadline that many seconds from now, or without a number the one of calls that have none of their
        own."""
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
            raise bad_field("timeout", f"must be a number of seconds, not {seconds!r}")
        return Deadline.within(self.clock, self.patience if seconds is None else seconds)

    def waits(self) -> Waits:
        """Returns the waits between the attempts of one call."""
        return Waits(self.dice, local=self.local)

    def call(
        self,
        method: Method[Asked, Answer],
        request: Wire,
        metadata: tuple[tuple[str, str], ...] = (),
        deadline: Deadline | None = None,
        retried: Callable[[OpenIntentError], bool] = _always,
    ) -> Steps[Answer]:
        """Calls until it succeeds, fails for good, or its deadline passes, which is an UnavailableError that names the
        server. `retried` is asked whether to make the call again after a passing failure."""
        check(request)
        deadline, waits = deadline or self.deadline(), None
        while True:
            try:
                answer: Answer = yield from self.attempt(Invoke(method, request, deadline.remaining, metadata))
                return answer
            except OpenIntentError as error:
                waits = waits or self.waits()
                if not is_passing(error):
                    raise
                if not retried(error):
                    raise self.outcome_unknown(error) from None
                wait = waits.after(error)
                self.again(error, wait, deadline)
            yield Pause(wait)

    def attempt(self, invoke: Invoke) -> Steps[Any]:
        """Makes one attempt, and notes whether the server answered it."""
        try:
            answer = yield invoke
        except OpenIntentError as error:
            self.reached = self.reached or bool(error.reason)
            raise
        self.answered()
        return answer

    def answered(self) -> None:
        """Notes that the server has answered, and not with a refusal."""
        self.reached = True
        if self.outage is not None:
            self.outage.told = False

    def again(
        self, error: OpenIntentError, wait: float, deadline: Deadline, facts: Mapping[str, str] | None = None
    ) -> None:
        """Says that a call is made again after a wait. Raises UnavailableError when there is no time left for that."""
        if never_connected(error):
            deadline = deadline.connecting(self.time_to_connect)
        if not deadline.allows(wait):
            raise self.unavailable(error, deadline, facts) from None
        if self.outage is not None:
            self.outage.lasts(self.address, error)

    def unavailable(
        self, error: OpenIntentError, deadline: Deadline, facts: Mapping[str, str] | None = None
    ) -> UnavailableError:
        """Returns the error of a call whose deadline passed while its attempts failed, the last one with `error`."""
        what, time = "did not answer within", f"{deadline.seconds:g} s"
        if error.reason:
            what = "was unavailable for"
        elif never_connected(error):
            what = "could not be reached within"
        return _unavailable(f"The server at {self.address} {what} {time}", error, facts)

    def outcome_unknown(self, error: OpenIntentError) -> UnavailableError:
        """Returns the error of a call whose only attempt may have taken effect, and which must not happen twice."""
        text = f"No answer came from the server at {self.address}, so the call may or may not have taken effect"
        return _unavailable(text, error)

    def call_for_ever(
        self,
        method: Method[Asked, Answer],
        request: Any,
        failed: Callable[[OpenIntentError], None] = _nothing,
        starting: Starting | None = None,
    ) -> Steps[Answer]:
        """Calls until it succeeds or fails for good, however long the server is away. An attempt that gets no
        answer within the patience is made again. `failed` is told of each attempt that failed and is made again. `starting`
        says what else ends it while the agent starts."""
        check(request)
        waits = None
        while True:
            try:
                answer: Answer = yield from self.attempt(Invoke(method, request, self.patience))
                return answer
            except OpenIntentError as error:
                waits = waits or self.waits()
                if not is_passing(error) and not isinstance(error, UnavailableError):
                    raise
                wait = waits.after(error)
                if starting is not None and (late := starting.ends(self, error, wait)):
                    raise late from None
                failed(error)
            yield Pause(wait)


@dataclass(frozen=True, slots=True)
class Starting:
    """What ends an agent that has not been connected: the end of its time to connect, and a failure of TLS, which nothing
    but other settings can mend. Later it goes on, since certificates are renewed."""

    until: Deadline | None = None
    over: bool = False

    def ends(self, calls: Calls, error: OpenIntentError, wait: float) -> OpenIntentError | None:
        """Returns the error that ends the agent instead of another attempt after a wait; None for none."""
        if self.over:
            return None
        if error.reason == TLS_FAILED:
            return error
        if self.until is not None and never_connected(error) and not self.until.allows(wait):
            return calls.unavailable(error, self.until)
        return None


def never_connected(error: OpenIntentError) -> bool:
    """Whether an attempt failed because it got no connection."""
    return isinstance(error, UnavailableError) and error.unconnected


def _unavailable(text: str, error: OpenIntentError, facts: Mapping[str, str] | None = None) -> UnavailableError:
    """Makes the error that says `text`, and then what the last attempt failed with."""
    unavailable = UnavailableError(
        f"{text}: {error.message}", code="UNAVAILABLE", reason=error.reason, metadata={**error.metadata, **(facts or {})},
        retry_after=error.retry_after,
    )
    unavailable.brief = text
    return unavailable
