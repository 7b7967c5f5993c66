"""One call, made until it succeeds: every other rule builds on this one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from random import random
from typing import Any

from google.protobuf.message import Message as Wire

from ._effects import Invoke, Pause, Steps
from ._methods import Answer, Asked, Method
from ._retrying import PATIENCE, Deadline, Waits, is_passing
from .errors import OpenIntentError


def new_key() -> str:
    """Makes an idempotency key, so that a call that is made twice takes effect once."""
    return uuid.uuid4().hex


@dataclass(slots=True)
class Calls:
    """Makes calls as one sender. Tests pass in a clock, dice and keys of their own."""

    sender: str = "operator"
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic
    dice: Callable[[], float] = random
    key: Callable[[], str] = field(default=new_key)

    def deadline(self, seconds: float | None) -> Deadline:
        """Returns the deadline that many seconds from now; None: never."""
        return Deadline.within(self.clock, seconds)

    def waits(self) -> Waits:
        """Returns the waits between the attempts of one call."""
        return Waits(self.dice)

    def call(
        self,
        method: Method[Asked, Answer],
        request: Wire,
        metadata: tuple[tuple[str, str], ...] = (),
        retried: Callable[[OpenIntentError], bool] = is_passing,
    ) -> Steps[Answer]:
        """Calls until it succeeds, fails for good, or the patience runs out. Then it raises the last failure."""
        deadline, waits = self.deadline(self.patience), self.waits()
        while True:
            try:
                answer: Answer = yield Invoke(method, request, deadline.remaining, metadata)
                return answer
            except OpenIntentError as error:
                if not retried(error):
                    raise
                wait = waits.after(error)
                if not deadline.allows(wait):
                    raise
            yield Pause(wait)

    def call_for_ever(self, method: Method[Asked, Answer], request: Any) -> Steps[Answer]:
        """Calls until it succeeds or fails for good, however long the server is away. An attempt that gets no
        answer within the patience is made again."""
        waits = self.waits()
        while True:
            try:
                answer: Answer = yield Invoke(method, request, self.patience)
                return answer
            except OpenIntentError as error:
                if not is_passing(error) and error.code != "DEADLINE_EXCEEDED":
                    raise
                wait = waits.after(error)
            yield Pause(wait)
