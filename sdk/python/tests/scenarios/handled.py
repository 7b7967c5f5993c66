"""What an agent's handlers were called for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from openintent_channels import Digest
from openintent_channels.agents import ReceivedMessage

if TYPE_CHECKING:
    from scenarios.teller import Teller

Said = dict[str, Any]

PATIENCE = 30.0
"""How many seconds a step waits for something that must come."""

APART = timedelta(seconds=3)
"""How long a sender is silent before what it wrote is delivered to a subscription that composes."""


class Calls:
    """Which messages and digests an agent's handlers were called for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Condition()
        self.messages: dict[str, ReceivedMessage] = {}
        self.digests: list[Digest] = []

    def note(self, message: ReceivedMessage) -> None:
        """Notes a call with a message, from any thread."""
        self._note(lambda: self.messages.setdefault(message.id, message))

    def note_digest(self, digest: Digest) -> None:
        """Notes a call with a digest, from any thread."""
        self._note(lambda: self.digests.append(digest))

    def _note(self, change: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._do(change)))

    async def _do(self, change: Callable[[], object]) -> None:
        async with self._changed:
            change()
            self._changed.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until something is true of the calls."""

        async def wait() -> None:
            async with self._changed:
                await self._changed.wait_for(condition)

        await asyncio.wait_for(wait(), PATIENCE)

    async def reach(self, count: int) -> list[ReceivedMessage]:
        """Waits until there were calls for that many different messages, and returns these in their order."""
        await self.until(lambda: len(self.messages) >= count)
        return list(self.messages.values())


async def _wait_handled(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.cast.calls[said["agent"]].reach(said["count"])


async def _handled(teller: Teller, _who: str, said: Said, _: Said) -> list[Said]:
    messages = await teller.cast.calls[said["agent"]].reach(said["count"])
    return [{"id": m.id, "payload": m.payload, "attention": _attention(m)} for m in messages]


def _attention(message: ReceivedMessage) -> Said | None:
    judged = message.attention
    if judged is None:
        return None
    names = ("directedness", "policy", "injection", "reason")
    return {name: getattr(judged, name) for name in names}


async def _together(teller: Teller, _who: str, said: Said, _: Said) -> None:
    """Fails unless messages came with one delivery. Those that the server stored too far apart, or that the agent found in
    its inbox, may have come by themselves."""
    calls, ids = teller.cast.calls[said["agent"]], said["messages"]
    await calls.until(lambda: set(ids) <= set(calls.messages))
    messages = [calls.messages[name] for name in ids]
    gaps = [later.created_at - sooner.created_at for sooner, later in zip(messages, messages[1:], strict=False)]
    if any(gap >= APART for gap in gaps) or any(m.position is None for m in messages):
        return
    for message in messages:
        assert list(message.source_ids) == ids, f"{message.id} came with {message.source_ids}"


async def _digested(teller: Teller, _who: str, said: Said, _: Said) -> Said:
    calls = teller.cast.calls[said["agent"]]
    await calls.until(lambda: sum(d.message_count for d in calls.digests) >= said["count"])
    return {
        "message_count": sum(d.message_count for d in calls.digests),
        "left_out_count": sum(d.left_out_count for d in calls.digests),
        "senders": sorted({c.sender for d in calls.digests for c in d.counts}),
        "subjects": sorted(s.subject for d in calls.digests for s in d.subjects),
    }


HANDLED = {"wait_handled": _wait_handled, "handled": _handled, "together": _together, "digested": _digested}
