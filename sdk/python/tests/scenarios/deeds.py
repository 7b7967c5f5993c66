"""What each step of a scenario does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from openintent_channels import Reach
from openintent_channels.models import Channel
from scenarios.conversing import CONVERSING, INTERVAL
from scenarios.following import Following
from scenarios.handled import HANDLED, PATIENCE
from scenarios.mailboxes import MAILING

if TYPE_CHECKING:
    from scenarios.teller import Teller

Said = dict[str, Any]
Deed = Callable[["Teller", str, Said, dict[str, Any]], Awaitable[Any]]

FOLLOW_PATIENCE = 10.0


async def _create_channel(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor, name = teller.actor(who), said.pop("channel")
    channel = await actor.call(actor.client.create_channel, teller.intent_id, name, **said)
    teller.created[name] = channel
    teller.handles[who, name] = actor.handle(channel)
    return channel


async def _open_intent(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor = teller.actor(who)
    return await actor.call(actor.client.intents.open, said["title"])


async def _open(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor, name = teller.actor(who), said.pop("channel")
    handle = await actor.call(actor.client.channels.open, name, teller.intent_id, **said)
    teller.handles[who, name] = handle
    return handle.channel


def _with_channel(method: str) -> Deed:
    """A step that calls the client with a channel's id."""

    async def deed(teller: Teller, who: str, said: Said, _: Said) -> Any:
        actor, handle = teller.actor(who), await teller.handle(who, said["channel"])
        return await actor.call(getattr(actor.client, method), handle.id)

    return deed


async def _list_channels(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor = teller.actor(who)
    return await actor.call(actor.client.list_channels, teller.intent_id)


async def _send(teller: Teller, who: str, said: Said, step: Said) -> Any:
    actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
    if "expires_in" in said:
        said["expires_at"] = datetime.now(timezone.utc) + timedelta(seconds=said.pop("expires_in"))
    kind = step["do"]
    plain = set(said) <= {"to", "payload", "metadata"}
    if kind == "notify" and plain:
        return await actor.call(handle.notify, **said)
    if kind == "broadcast" and set(said) <= {"payload", "metadata"}:
        return await actor.call(handle.broadcast, **said)
    if kind != "send":
        said.setdefault("message_type", kind)
    return await actor.call(handle.send, **said)


def _ask(method: str) -> Deed:
    async def deed(teller: Teller, who: str, said: Said, _: Said) -> Any:
        actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
        function = getattr(handle, method)
        return await (actor.gather if method == "ask_all_iter" else actor.call)(function, **said)

    return deed


def _with_message(method: str) -> Deed:
    """A step that calls the client with a channel's and a message's id."""

    async def deed(teller: Teller, who: str, said: Said, _: Said) -> Any:
        actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
        message = said.pop("message")
        return await actor.call(getattr(actor.client, method), handle.id, message, **said)

    return deed


async def _list_messages(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor, handle = teller.actor(who), await teller.handle(who, said.pop("channel"))
    return await actor.call(actor.client.list_messages, handle.id, **said)


async def _follow(teller: Teller, who: str, said: Said, step: Said) -> None:
    handle, following = await teller.handle(who, said["channel"]), Following()
    following.end = await teller.actor(who).follow(handle, following.take)
    teller.followings[step["save"]] = following


async def _followed(teller: Teller, _who: str, said: Said, _: Said) -> Any:
    following = teller.followings[said["follow"]]
    try:
        await asyncio.wait_for(following.reach(said["count"]), FOLLOW_PATIENCE)
    except asyncio.TimeoutError:
        raise AssertionError(f"only {len(following.messages)} of {said['count']} came: {following.messages}") from None
    return list(following.messages)


async def _follow_ends(teller: Teller, _who: str, said: Said, _: Said) -> None:
    end = teller.followings[said["follow"]].end
    assert end is not None
    await asyncio.wait_for(end, PATIENCE)


async def _wait(teller: Teller, _who: str, said: Said, _: Said) -> Any:
    return await asyncio.wait_for(teller.background[said["background"]], 2 * PATIENCE)


async def _start_agent(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.start_agent(said["agent"])


async def _stop_agent(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.agents.pop(said["agent"]).__aexit__(None, None, None)


async def _status_note(teller: Teller, _who: str, said: Said, _: Said) -> None:
    teller.agents[said["agent"]].set_status_note(said["note"])


async def _deregister(teller: Teller, who: str, said: Said, _: Said) -> None:
    await teller.rest(who, "DELETE", f"/v1/agents/{teller.names.unique(said['agent'])}")


async def _presence(teller: Teller, who: str, said: Said, _: Said) -> Said:
    path = f"/v1/agents/{teller.names.unique(said['agent'])}"
    while True:
        record: Said = await teller.rest(who, "GET", path)
        if (record.get("status_note") or "") == said["note"] and record["status"] == said.get("status", record["status"]):
            return record
        await asyncio.sleep(INTERVAL)


async def _reach(teller: Teller, who: str, said: Said, _: Said) -> Said:
    actor, agent_id = teller.actor(who), teller.names.unique(said["agent"])
    while True:
        reach: Reach = await actor.call(actor.client.reach, agent_id)
        if reach.level == said["level"]:
            waiting = reach.waiting and reach.waiting.count
            paths = [path.kind for path in reach.paths]
            return {"agent_id": reach.agent_id, "level": reach.level, "paths": paths, "waiting": waiting}
        await asyncio.sleep(INTERVAL)


async def _probe(teller: Teller, who: str, said: Said, _: Said) -> Said:
    probed = await teller.rest(who, "POST", f"/v1/agents/{teller.names.unique(said['agent'])}/probe")
    confirmed = [path["kind"] for path in probed["paths"] if path["confirmed_at"]]
    return {"level": probed["reach"]["level"], "confirmed": confirmed}


async def _release(teller: Teller, _who: str, said: Said, _: Said) -> None:
    teller.gates.of(said["gate"]).set()


async def _set_status(teller: Teller, who: str, said: Said, _: Said) -> Any:
    actor = teller.actor(who)
    return await actor.call(actor.client.intents.set_status, teller.intent_id, said["status"])


async def _set_access(teller: Teller, who: str, said: Said, _: Said) -> None:
    entries = [
        {"principal_id": teller.names.unique(e["agent"]), "principal_type": "agent", "permission": e["permission"]}
        for e in said.get("entries", [])
    ]
    body = {"default_policy": said["default_policy"], "entries": entries}
    await teller.rest(who, "PUT", f"/v1/intents/{teller.intent_id}/acl", body)


async def _remove_member(teller: Teller, who: str, said: Said, _: Said) -> Channel:
    actor, handle = teller.actor(who), await teller.handle(who, said["channel"])
    await teller.rest(who, "DELETE", f"/v1/channels/{handle.id}/members/{teller.names.unique(said['agent'])}")
    channel: Channel = await actor.call(actor.client.get_channel, handle.id)
    return channel


async def _disturb(teller: Teller, _who: str, _said: Said, step: Said) -> None:
    await asyncio.get_running_loop().run_in_executor(teller.threads, teller.stage.disturb, step["do"])


async def _use_replica(teller: Teller, _who: str, said: Said, _: Said) -> None:
    """Gives an actor a client of the other replica, and handles with it. What the actor has begun stays where it is."""
    name = said["client"]
    teller.servers[name] = teller.stage.server if said["replica"] == 1 else teller.stage.replica
    known = {channel: handle for (who, channel), handle in teller.handles.items() if who == name}
    if name in teller.actors:
        teller.actors[f"{name} before {len(teller.actors)}"] = teller.actors.pop(name)
    for channel, handle in known.items():
        teller.handles[name, channel] = teller.actor(name).handle(handle.channel)


DEEDS: dict[str, Deed] = {
    "create_channel": _create_channel,
    "open": _open,
    "open_intent": _open_intent,
    "close_channel": _with_channel("close_channel"),
    "get_channel": _with_channel("get_channel"),
    "list_channels": _list_channels,
    "send": _send,
    "notify": _send,
    "broadcast": _send,
    "ask": _ask("ask"),
    "ask_all": _ask("ask_all"),
    "ask_all_iter": _ask("ask_all_iter"),
    "resume_ask": _with_message("resume_ask"),
    "reply": _with_message("reply_to"),
    "list_messages": _list_messages,
    "get_message": _with_message("get_message"),
    "mark_read": _with_message("mark_read"),
    "follow": _follow,
    "followed": _followed,
    "follow_ends": _follow_ends,
    "wait": _wait,
    "start_agent": _start_agent,
    "stop_agent": _stop_agent,
    "status_note": _status_note,
    "deregister": _deregister,
    "presence": _presence,
    "reach": _reach,
    "probe": _probe,
    "release": _release,
    "set_status": _set_status,
    "set_access": _set_access,
    "remove_member": _remove_member,
    "restart": _disturb,
    "kill": _disturb,
    "move": _disturb,
    "use_replica": _use_replica,
    **CONVERSING,
    **HANDLED,
    **MAILING,
}
