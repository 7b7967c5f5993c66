"""Agents that do what a script says, in place of those with which an agent works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _pace
from .._async_agent_message import AgentMessage
from ..agents import Agent, AgentBase, on_message
from ._apart import Apart
from ._awaited import Awaited
from ._record import Heard, Wanted, check_names, described, listed, matches

_WITHIN = 5.0
_TTL = 90

Payload = dict[str, Any] | Callable[[dict[str, Any]], Any]
"""What a peer answers: a payload, or a function that makes one of the question's."""


class Peer:
    """An agent that does what its script says, in a thread of its own. The last line that was written counts, from the next
    message on. A peer without a script is not there."""

    def __init__(self, agent_id: str, role: str | None, server: str, key: str) -> None:
        self.agent_id = agent_id
        self._server, self._key, self._role = server, key, role
        self._act: Callable[[AgentMessage], Any] = _nothing
        self._heard: list[Heard] = []
        self._came = threading.Condition()
        self._apart: Apart | None = None

    @property
    def aio(self) -> Any:
        """The same methods, to be awaited."""
        return Awaited(self)

    def answers(self, payload: Payload) -> Peer:
        """Answers every request with a payload, or with what a function makes of the request's payload."""

        async def act(message: AgentMessage) -> Any:
            return _made(payload, message) if message.message_type == "request" else None

        return self._plays(act)

    def stays_silent(self) -> Peer:
        """Receives everything, and answers nothing."""
        return self._plays(_nothing)

    def answers_after(self, seconds: float, payload: Payload) -> Peer:
        """Answers every request when the test has let so much time pass since it came."""

        async def act(message: AgentMessage) -> Any:
            if message.message_type != "request":
                return None
            await _pace.pause(seconds)
            return _made(payload, message)

        return self._plays(act)

    def answers_twice(self, first: Payload, second: Payload | None = None) -> Peer:
        """Answers every request twice: with the same payload, unless there is a second one."""

        async def act(message: AgentMessage) -> Any:
            if message.message_type != "request":
                return None
            await message.reply(_made(first, message))
            return _made(first if second is None else second, message)

        return self._plays(act)

    def claims_and_dies(self, ttl: int = _TTL) -> Peer:
        """Claims the first message that comes, for so many seconds, and dies: its connection ends, it renews nothing, and
        the server hears nothing more of it."""

        async def act(message: AgentMessage) -> Any:
            if not message.place.fence:  # a request that takes a certain number of answers is claimed already
                await message.claim(ttl).__aenter__()
            assert self._apart is not None
            await self._apart.agent.client._connection.close()
            return None

        return self._plays(act)

    def does(self, act: Callable[[AgentMessage], Any]) -> Peer:
        """Calls an async function with each message; what it returns is the answer."""
        return self._plays(act)

    def heard(self, **wanted: Wanted) -> list[Heard]:
        """Lists what has reached the peer, in order: all, or the messages whose fields are as wanted."""
        check_names(Heard, wanted)
        with self._came:
            return [message for message in self._heard if matches(message, wanted)]

    def assert_heard(self, *, within: float = _WITHIN, **wanted: Wanted) -> Heard:
        """Waits, at most for so many seconds, until a message reaches the peer that is as wanted, and returns it. Raises
        AssertionError with what has reached it instead."""
        check_names(Heard, wanted)
        with self._came:
            if self._came.wait_for(lambda: any(matches(message, wanted) for message in self._heard), within):
                return next(message for message in self._heard if matches(message, wanted))
            everything = listed(self._heard)
        raise AssertionError(f"{self.agent_id} did not hear this: {described(wanted)}. It heard:\n{everything}")

    def close(self) -> None:
        """Leaves. Closing again does nothing."""
        if self._apart is not None:
            self._apart.leave()

    def _plays(self, act: Callable[[AgentMessage], Any]) -> Peer:
        self._act = act
        if self._apart is None:
            self._apart = Apart(self._acting(), self._server, self._key)
            self._apart.start()
        return self

    def _acting(self) -> AgentBase:
        peer = self

        @Agent(self.agent_id, role=self._role, drain_seconds=0)
        class Acting(AgentBase):
            @on_message()
            async def act(self, message: AgentMessage) -> Any:
                return await peer._take(message)

        return Acting()

    async def _take(self, message: AgentMessage) -> Any:
        with self._came:
            self._heard.append(
                Heard(
                    message.id, message.channel_id, message.channel_name, message.sender, message.message_type,
                    message.payload,
                )
            )
            self._came.notify_all()
        return await self._act(message)


async def _nothing(_: AgentMessage) -> None: ...


def _made(payload: Payload, message: AgentMessage) -> Any:
    return payload(message.payload) if callable(payload) else payload
