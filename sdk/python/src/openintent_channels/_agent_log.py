"""What an agent says in its log. The events and their words are the same in all languages; sdk/README.md has their table."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterable

from ._following import Memory
from .errors import OpenIntentError, UnavailableError

logger = logging.getLogger("openintent_channels")

_FIRST_REMINDER, _LONGEST_REMINDER = 10.0, 3600.0
"""How many seconds after the first warning about a server that stays away the second one comes. Each later one comes after
twice as long as the one before, and after an hour at most."""

_REMEMBERED_CHANNELS = 10_000


class AgentLog:
    """The log of one run of an agent. It remembers what it has said, so that a server that stays away fills no disk."""

    def __init__(self, agent_id: str, address: str, clock: Callable[[], float]) -> None:
        self._agent_id = agent_id
        self._address = address
        self._clock = clock
        self._connected = self._was_connected = self._gave_up = False
        self._failing_since: float | None = None
        self._said_failing = 0.0
        self._reminder = _FIRST_REMINDER
        self._unhandled = Memory(_REMEMBERED_CHANNELS)

    def connected(self, stands_by: bool) -> None:
        """The server has said whether this process receives. It says so for each stream, and whenever that changes."""
        again = " again" if self._was_connected and not self._connected else ""
        if stands_by:
            self._say(
                logging.INFO, f"is connected to %s{again} and stands by: another process receives for it", self._address
            )
        elif self._connected:
            self._say(logging.INFO, "takes over: it receives from now on")
        else:
            self._say(logging.INFO, f"is connected to %s{again} and receives", self._address)
        self._connected = self._was_connected = True
        self._failing_since = None

    def lost(self, error: object) -> None:
        """A stream has ended, or was not even begun."""
        if not self._connected:
            self.failed(error)
            return
        self._connected = False
        self._say(logging.INFO, "lost its connection to %s and connects again: %s", self._address, error)

    def failed(self, error: object) -> None:
        """An attempt to reach the server has failed. While the agent is connected, its stream tells more."""
        if self._connected:
            return
        now = self._clock()
        if self._failing_since is None:
            self._failing_since = self._said_failing = now
            self._reminder = _FIRST_REMINDER
            self._say(logging.WARNING, "cannot reach the server at %s and keeps trying: %s", self._address, error)
        elif now - self._said_failing >= self._reminder:
            self._said_failing = now
            self._reminder = min(2 * self._reminder, _LONGEST_REMINDER)
            lasting = _duration(now - self._failing_since)
            self._say(
                logging.WARNING, "has not reached the server at %s for %s and keeps trying: %s",
                self._address, lasting, error,
            )

    def gives_up(self, error: BaseException) -> None:
        """An error ends the agent. Others that end it at the same time say nothing more."""
        if not self._gave_up:
            self._gave_up = True
            brief = error.brief if isinstance(error, UnavailableError) and self._failing_since is not None else ""
            self._say(logging.ERROR, "gives up: %s", brief or error)

    def leaving(self, running: int) -> None:
        """The agent takes nothing new, and waits for its handlers."""
        if not self._gave_up:
            self._say(logging.INFO, "is leaving and waits for %d running handlers", running)

    def left_before(self, running: int) -> None:
        """Handlers have taken longer than the agent waits for them."""
        self._say(logging.WARNING, "left before %d of its handlers ended", running)

    def left(self) -> None:
        """The agent is gone."""
        if not self._gave_up:
            self._say(logging.INFO, "has left")

    def warn(self, text: str, *values: object) -> None:
        """Something else went wrong that the agent goes on after."""
        self._say(logging.WARNING, text, *values)

    def unhandled(self, channel: str, handled: Iterable[str]) -> None:
        """A message has come on a channel without a handler. Each channel's name is said once."""
        if not self._unhandled.add(channel):
            return
        names = ", ".join(_quoted(name) for name in handled)
        has = f"it has handlers for {names}" if names else "it has no handlers at all"
        self._say(logging.WARNING, "has no handler for channel %s; %s", _quoted(channel), has)

    def handler_failed(self, channel: str, message_id: str, error: BaseException) -> None:
        """A handler has failed, or has returned what cannot be an answer."""
        logger.error(
            "agent %s: the handler for channel %s failed on message %s: %s",
            self._agent_id, _quoted(channel), message_id, _in_a_line(error), exc_info=error,
        )

    def unfit(self, channel: str, message_id: str, returned: bool, error: OpenIntentError) -> None:
        """The payload of a message, or what a handler returned, does not have the form that it must have."""
        what = "what the handler returned for" if returned else "the payload of"
        logger.error(
            "agent %s: %s message %s on channel %s does not fit: %s",
            self._agent_id, what, message_id, _quoted(channel), error.message,
        )

    def digest_failed(self, error: BaseException) -> None:
        """A handler of digests has failed."""
        logger.error(
            "agent %s: the handler for digests failed: %s", self._agent_id, _in_a_line(error), exc_info=error
        )

    def digest_unhandled(self, messages: int) -> None:
        """A digest has come, and nothing handles digests."""
        self._say(logging.DEBUG, "has no handler for digests, and leaves out one of %d messages", messages)

    def replaces(self) -> None:
        """The agent makes its subscription anew."""
        self._say(logging.INFO, "replaces its subscription, which lets messages wait in another way")

    def claim_lost(self, channel: str, message_id: str, error: OpenIntentError) -> None:
        """A claim has ended while a handler worked under it."""
        logger.warning(
            "agent %s: the claim on message %s on channel %s is lost: %s",
            self._agent_id, message_id, _quoted(channel), error,
        )

    def too_late(self, channel: str, message_id: str, error: OpenIntentError) -> None:
        """An answer has come when nobody waited for it any longer."""
        logger.warning(
            "agent %s: the answer to message %s on channel %s came too late: %s",
            self._agent_id, message_id, _quoted(channel), error,
        )

    def answer_refused(self, channel: str, message_id: str, error: OpenIntentError) -> None:
        """The server has refused an answer for another reason."""
        logger.warning(
            "agent %s: the answer to message %s on channel %s was refused: %s",
            self._agent_id, message_id, _quoted(channel), error,
        )

    def _say(self, level: int, text: str, *values: object) -> None:
        logger.log(level, "agent %s " + text, self._agent_id, *values)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _in_a_line(error: BaseException) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
