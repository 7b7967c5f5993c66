"""One call, made until it succeeds: every other rule builds on this one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import random
from typing import Any

from google.protobuf.message import Message as Wire

from ._effects import Invoke, Pause, Steps
from ._methods import Answer, Asked, Method
from ._retrying import PATIENCE, Deadline, Waits, is_passing
from ._settings import DEFAULT_SERVER
from .errors import OpenIntentError, UnavailableError


def new_key() -> str:
    """Makes an idempotency key, so that a call that is made twice takes effect once."""
    return os.urandom(16).hex()


def _always(_: OpenIntentError) -> bool:
    return True


def _nothing(_: OpenIntentError) -> None: ...


@dataclass(slots=True)
class Calls:
    """Makes calls as one sender. Tests pass in a clock, dice and keys of their own."""

    sender: str = "operator"
    address: str = DEFAULT_SERVER
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic
    dice: Callable[[], float] = random
    key: Callable[[], str] = field(default=new_key)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Returns the deadline that many seconds from now, or without a number the one of calls that have none of their
        own."""
        return Deadline.within(self.clock, self.patience if seconds is None else seconds)

    def waits(self) -> Waits:
        """Returns the waits between the attempts of one call."""
        return Waits(self.dice)

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
        deadline, waits = deadline or self.deadline(), None
        while True:
            try:
                answer: Answer = yield Invoke(method, request, deadline.remaining, metadata)
                return answer
            except OpenIntentError as error:
                waits = waits or self.waits()
                if not is_passing(error):
                    raise
                if not retried(error):
                    raise self.outcome_unknown(error) from error
                wait = waits.after(error)
                if not deadline.allows(wait):
                    raise self.unavailable(error, deadline) from error
            yield Pause(wait)

    def unavailable(
        self, error: OpenIntentError, deadline: Deadline, facts: Mapping[str, str] | None = None
    ) -> UnavailableError:
        """Returns the error of a call whose deadline passed while its attempts failed, the last one with `error`."""
        text = f"The server at {self.address} was not available within {deadline.seconds:g} s; the last attempt failed with"
        return _unavailable(f"{text}: {error.message}", error, facts)

    def outcome_unknown(self, error: OpenIntentError) -> UnavailableError:
        """Returns the error of a call whose only attempt may have taken effect, and which must not happen twice."""
        text = f"No answer came from the server at {self.address}, so the call may or may not have taken effect"
        return _unavailable(f"{text}: {error.message}", error)

    def call_for_ever(
        self,
        method: Method[Asked, Answer],
        request: Any,
        failed: Callable[[OpenIntentError], None] = _nothing,
    ) -> Steps[Answer]:
        """Calls until it succeeds or fails for good, however long the server is away. An attempt that gets no
        answer within the patience is made again. `failed` is told of each attempt that failed and is made again."""
        waits = None
        while True:
            try:
                answer: Answer = yield Invoke(method, request, self.patience)
                return answer
            except OpenIntentError as error:
                waits = waits or self.waits()
                if not is_passing(error) and not isinstance(error, UnavailableError):
                    raise
                failed(error)
                wait = waits.after(error)
            yield Pause(wait)


def _unavailable(text: str, error: OpenIntentError, facts: Mapping[str, str] | None = None) -> UnavailableError:
    return UnavailableError(
        text, code="UNAVAILABLE", reason=error.reason, metadata={**error.metadata, **(facts or {})},
        retry_after=error.retry_after,
    )
