"""What the steps on threads, edits, searches, reactions, claims and attention do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.teller import Teller

Said = dict[str, Any]

INTERVAL = 0.05
"""How many seconds pass between two looks at something that cannot be waited for. The scenario's end bounds them."""


def _on_message(method: str) -> Callable[[Teller, str, Said, Said], Awaitable[Any]]:
    """A step that calls the channel's handle with a message's id."""

    async def deed(teller: Teller, who: str, said: Said, _: Said) -> Any:
        actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
        return await actor.call(getattr(handle, method), **said)

    return deed


async def _claim(teller: Teller, who: str, said: Said, step: Said) -> Said:
    actor, handle = teller.actor(who), await teller.handle(who, said["channel"])
    claim = await actor.claim(handle, said["message"])
    teller.releases[step["save"]] = partial(actor.release, claim)
    return {"message_id": claim.message_id, "fence": claim.fence}


async def _release_claim(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.releases.pop(said["claim"])()


async def _attention(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor, handle = teller.actor(who), await teller.handle(who, said["channel"])
    explanation = await actor.call(handle.attention, said["message"], teller.names.unique(said.get("agent")))
    return explanation.attention


async def _dispositions(teller: Teller, who: str, said: Said, _: Said) -> Said:
    handle = await teller.handle(who, said["channel"])
    path = f"/v1/channels/{handle.id}/messages/{said['message']}/deliveries"
    while True:
        listed = await teller.rest(who, "GET", path)
        found = {d["agent_id"]: d["disposition"] for d in listed if d.get("disposition")}
        if len(found) >= said["count"]:
            return {teller.names.common(agent): disposition for agent, disposition in found.items()}
        await asyncio.sleep(INTERVAL)


async def _obligations(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor = teller.actor(who)
    return await actor.call(actor.client.list_obligations, actor.client.agent_id, said["side"])


async def _concerns(teller: Teller, who: str, said: Said, _: Said) -> Any:
    """Lists what needs an agent, once there are as many concerns as the step says."""
    actor = teller.actor(who)
    while True:
        page = await actor.call(actor.client.concerns, said.get("kind"))
        if len(page.concerns) == said["count"]:
            return page.concerns
        await asyncio.sleep(INTERVAL)


async def _search(teller: Teller, who: str, said: Said, _: Said) -> Any:
    """Searches in a channel until as many messages are found as the step says."""
    actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
    query, count = said.pop("q"), said.pop("count", 0)
    while True:
        page = await actor.call(actor.client.search_messages, query, channel_id=handle.id, **said)
        if len(page.messages) >= count:
            return page.messages
        await asyncio.sleep(INTERVAL)


CONVERSING: dict[str, Callable[[Teller, str, Said, Said], Awaitable[Any]]] = {
    "thread": _on_message("thread"),
    "edit": _on_message("edit"),
    "delete": _on_message("delete"),
    "revisions": _on_message("revisions"),
    "search": _search,
    "react": _on_message("react"),
    "unreact": _on_message("unreact"),
    "reactions": _on_message("reactions"),
    "discharge": _on_message("discharge"),
    "obligations": _obligations,
    "concerns": _concerns,
    "claim": _claim,
    "release_claim": _release_claim,
    "attention": _attention,
    "dispositions": _dispositions,
}
