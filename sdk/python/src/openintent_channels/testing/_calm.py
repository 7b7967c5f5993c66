"""When an agent is calm, so that time may pass."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

_CALM_SECONDS = 0.15
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.005, 0.05

Wire = dict[str, Any]
"""A message as the server gives it over REST."""


class Calm:
    """Finds out when an agent is calm: it is not at work, or awaits an answer, and has said nothing new for 0.15 seconds.
    Where time may not pass, no answer will come, and who awaits one is at work like others."""

    def __init__(self, agent_id: str, *, time_may_pass: bool = True) -> None:
        self._agent_id, self._time_may_pass = agent_id, time_may_pass
        self._said: list[str] | None = None
        self._since = 0.0

    def is_reached(self, moment: float, at_work: bool, messages: Sequence[Wire], now: datetime) -> bool:
        """Whether the agent is calm, for somebody who looks again and again: at a moment, at its work, at the intent's
        messages, and at the server's time."""
        said = [message["id"] for message in messages if message["sender"] == self._agent_id]
        awaits = self._time_may_pass and awaits_an_answer(self._agent_id, messages, now)
        if said != self._said or (at_work and not awaits):
            self._said, self._since = said, moment
        return moment - self._since >= _CALM_SECONDS


def awaits_an_answer(agent_id: str, messages: Sequence[Wire], now: datetime) -> bool:
    """Whether an agent has asked somebody, the time for that is not over, and fewer answers came than it collects. A request
    without an end is no such question: nobody waits for its answer."""
    return any(
        message["sender"] == agent_id
        and message["message_type"] == "request"
        and message["status"] != "expired"
        and message["expires_at"] is not None
        and time_of(message["expires_at"]) > now
        and sum(other["correlation_id"] == message["id"] for other in messages) < _collected(message.get("collect"))
        for message in messages
    )


def _collected(collect: Any) -> float:
    """How many answers end the wait for them; `all` waits until its time is over."""
    if isinstance(collect, dict):
        return float(collect["quorum"])
    return math.inf if collect == "all" else 1


def time_of(stamp: str) -> datetime:
    """Reads a time of the server."""
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))


def pause_since(begun: float) -> None:
    """Waits before the next look of somebody who began to look at a time of time.monotonic(): for a tenth of the time since
    then, at least 5 ms and at most 50 ms."""
    time.sleep(min(max(_SHORTEST_PAUSE, (time.monotonic() - begun) / 10), _LONGEST_PAUSE))
