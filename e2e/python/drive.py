"""Drives a server with the published package `openintent`, as its users do.

Usage: drive.py BASE_URL API_KEY

Runs every function whose name begins with `check_` and prints its name when it went well; the first that fails ends the
program. The key has the profile for this package (`;sdk`) and acts as any agent.
"""

import asyncio
import logging
import sys
import threading
from datetime import datetime, timedelta, timezone

from openintent import AsyncOpenIntentClient, OpenIntentClient
from openintent.agents import BaseAgent, on_message
from openintent.exceptions import ConflictError, LeaseConflictError, NotFoundError, OpenIntentError, ValidationError
from openintent.models import EventType, IntentLease, IntentStatus
from openintent.streaming import SSEEventType, SSEStream

BASE, KEY = sys.argv[1], sys.argv[2]


def client(agent):
    return OpenIntentClient(BASE, api_key=KEY, agent_id=agent)


alice, bob, carol = client("alice"), client("bob"), client("carol")


def new_channel(name="room", **options):
    """An intent of alice's with a channel."""
    intent = alice.create_intent("Research Q1 financials", description="What the numbers say")
    return intent, alice.create_channel(intent.id, name, **options)


def raises(expected, call, *arguments, **named):
    """The exception that a call raises; it must be of exactly that class."""
    try:
        call(*arguments, **named)
    except OpenIntentError as error:
        assert type(error) is expected, f"{type(error).__name__}: {error} {error.response}"
        return error
    raise AssertionError("nothing was raised")


def check_discovery():
    assert "messaging" in alice.discover()["capabilities"]


def check_intent():
    intent = alice.create_intent(
        "Title", description="Words", constraints={"rules": ["a"]}, initial_state={"n": 1}, governance_policy={"x": 1}
    )
    assert (intent.title, intent.description, intent.version) == ("Title", "Words", 1)
    assert intent.created_by == "alice"
    same = bob.get_intent(intent.id)
    assert same.state.to_dict() == {"n": 1}, same.state
    changed = alice.update_state(intent.id, intent.version, {"progress": 0.5})
    assert changed.version == 2
    stale = raises(ConflictError, alice.update_state, intent.id, intent.version, {"progress": 0.7})
    assert stale.current_version == 2
    assert any(i.id == intent.id for i in alice.list_intents())


def check_channel():
    intent, channel = new_channel("data", members=["alice", "bob"], member_policy="explicit", options={"audit": True})
    assert channel["options"] == {"audit": True, "ttl_seconds": None, "max_messages": 1000, "history": "all", "turn_budget": 20}
    assert channel["status"] == "open" and channel["members"] == ["alice", "bob"]
    assert bob.get_channel(channel["id"]) == channel
    assert bob.list_channels(intent.id) == [channel]
    raises(OpenIntentError, carol.list_messages, channel["id"])
    taken = raises(ConflictError, alice.create_channel, intent.id, "data")
    assert "name" in str(taken), taken


def check_close_channel():
    _, channel = new_channel()
    alice.send_message(channel["id"], "alice", payload={"n": 1})
    alice.close_channel(channel["id"])
    raises(NotFoundError, alice.get_channel, channel["id"])
    raises(NotFoundError, alice.send_message, channel["id"], "alice")


def check_send_and_list():
    _, channel = new_channel()
    later = (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat()
    first = alice.send_message(
        channel["id"], "alice", to="bob", payload={"n": 1}, metadata={"tag": "x"}, expires_at=later
    )
    assert (first["status"], first["message_type"], first["to"]) == ("delivered", "notify", "bob")
    assert datetime.fromisoformat(first["expires_at"]) == datetime.fromisoformat(later)
    second = alice.send_message(channel["id"], "alice", message_type="broadcast", payload={"n": 2})
    third = bob.send_message(channel["id"], "bob", to="alice", payload={"n": 3})

    def numbers(messages):
        return [m["payload"]["n"] for m in messages]

    assert numbers(bob.list_messages(channel["id"])) == [1, 2, 3]
    assert numbers(carol.list_messages(channel["id"])) == [2]
    assert numbers(bob.list_messages(channel["id"], since=first["id"])) == [2, 3]
    assert numbers(bob.list_messages(channel["id"], since=second["created_at"])) == [3]
    assert numbers(bob.list_messages(channel["id"], to="bob")) == [1, 2]
    assert numbers(bob.list_messages(channel["id"], since=first["id"], to="bob")) == [2]
    assert bob.list_messages(channel["id"], since=third["id"]) == []
    assert bob.get_message(channel["id"], first["id"]) == first
    raises(NotFoundError, carol.get_message, channel["id"], first["id"])


def check_mark_read():
    _, channel = new_channel()
    sent = alice.send_message(channel["id"], "alice", to="bob", payload={"n": 1})
    read = bob.mark_read(channel["id"], sent["id"])
    assert read["status"] == "read" and read["read_at"] > sent["created_at"]
    assert bob.mark_read(channel["id"], sent["id"]) == read
    assert alice.get_message(channel["id"], sent["id"]) == read


def check_ask_and_reply():
    _, channel = new_channel()
    answered, streaming = [], threading.Event()

    def answer():
        stream = SSEStream(f"{BASE}/api/v1/subscribe/channels/{channel['id']}", headers("bob"))
        for event in stream:
            streaming.set()
            if event.data.get("message_type") == "request":
                answered.append(bob.reply_to(channel["id"], event.data["id"], "bob", payload={"answer": "v2.3"}))
                break

    request_to_nobody = alice.send_message(channel["id"], "alice", to="carol", message_type="request")
    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    while not streaming.wait(0.1):  # the stream of the answering thread may begin after the first message
        alice.send_message(channel["id"], "alice", to="bob", payload={"anybody": "there?"})
    response = alice.ask(channel["id"], "alice", "bob", {"question": "What schema version?"}, timeout=60)
    answering.join(timeout=60)  # the asker may have the answer before the answering thread has its copy
    assert not answering.is_alive()
    assert response == answered[0]
    assert response["to"] == "alice" and response["payload"] == {"answer": "v2.3"}
    error = raises(ValidationError, alice.reply_to, channel["id"], response["id"], "alice")
    assert "request" in str(error), error
    raises(NotFoundError, bob.reply_to, channel["id"], request_to_nobody["id"], "bob")


def headers(agent):
    return {"X-API-Key": KEY, "X-Agent-ID": agent}


def check_stream_resumes():
    intent, channel = new_channel("löschen")
    sent = [alice.send_message(channel["id"], "alice", payload={"text": "a\u2028b\u0085ü😀", "n": n}) for n in range(4)]
    beginning = headers("bob") | {"Last-Event-ID": "0"}
    stream = SSEStream(f"{BASE}/api/v1/subscribe/channels/{channel['id']}", beginning)
    got = []
    for event in stream:
        assert event.type == "channel_message", event
        assert event.intent_id == intent.id and event.data["channel_name"] == "löschen"
        got.append(event)
        if len(got) == 2:
            break
    assert [e.data["payload"] for e in got] == [m["payload"] for m in sent[:2]]
    assert [e.data["id"] for e in got] == [m["id"] for m in sent[:2]]
    again = SSEStream(stream.url, headers("bob") | {"Last-Event-ID": got[-1].id})
    for message, event in zip(sent[2:], again):
        assert event.data["id"] == message["id"]


def check_stream_of_a_closed_channel_says_so():
    intent, channel = new_channel()
    alice.send_message(channel["id"], "alice", payload={"n": 1})
    alice.set_status(intent.id, intent.version, IntentStatus.ACTIVE)
    intent = alice.get_intent(intent.id)
    alice.set_status(intent.id, intent.version, IntentStatus.COMPLETED)
    stream = SSEStream(f"{BASE}/api/v1/subscribe/channels/{channel['id']}", headers("bob") | {"Last-Event-ID": "0"})
    types = []
    for event in stream:
        types.append(event.type)
        if event.type == "channel_closed":
            break
    assert types == ["channel_message", "channel_closed"], types
    closed = raises(ConflictError, alice.send_message, channel["id"], "alice")
    assert not isinstance(closed, LeaseConflictError)


def check_leases():
    intent, _ = new_channel("leases")
    with alice.lease(intent.id, "analysis") as held:
        assert (held.agent_id, held.scope, held.status.value) == ("alice", "analysis", "active")
        raises(LeaseConflictError, bob.acquire_lease, intent.id, "analysis")
        assert [one.id for one in bob.get_leases(intent.id)] == [held.id]
        assert alice.renew_lease(intent.id, held.id, 60).id == held.id
        raises(NotFoundError, bob.release_lease, intent.id, held.id)
    assert bob.get_leases(intent.id) == []
    bob.release_lease(intent.id, bob.acquire_lease(intent.id, "analysis", 60).id)


def check_leases_in_conflict():
    intent, _ = new_channel("leases")
    held = alice.acquire_lease(intent.id, "analysis")
    conflict = raises(LeaseConflictError, bob.acquire_lease, intent.id, "analysis")
    existing = IntentLease.from_dict(conflict.existing_lease)
    assert (existing.id, existing.agent_id, existing.expires_at) == (held.id, "alice", held.expires_at), existing
    assert isinstance(conflict.existing_lease["fence"], int) and conflict.response["fence"] == conflict.existing_lease["fence"]
    assert conflict.existing_lease["released_at"] is None


def check_leases_of_a_suspended_intent():
    intent, _ = new_channel("leases")
    held = alice.acquire_lease(intent.id, "analysis", 600)
    active = alice.set_status(intent.id, alice.get_intent(intent.id).version, IntentStatus.ACTIVE)
    alice.set_status(intent.id, active.version, IntentStatus.SUSPENDED_AWAITING_INPUT)
    before = datetime.now(timezone.utc)
    (shown,) = bob.get_leases(intent.id)
    assert shown.id == held.id and before < shown.expires_at < before + timedelta(seconds=660), shown.expires_at
    renewed = alice.renew_lease(intent.id, held.id, 3600)
    assert renewed.expires_at > before + timedelta(seconds=3600), renewed.expires_at
    conflict = raises(LeaseConflictError, bob.acquire_lease, intent.id, "analysis")
    assert IntentLease.from_dict(conflict.existing_lease).expires_at > before + timedelta(seconds=3500)
    assert bob.acquire_lease(intent.id, "other").expires_at > before
    alice.release_lease(intent.id, held.id)


def check_stream_of_an_intent():
    intent, channel = new_channel("room", options={"audit": True})
    intent = alice.set_status(intent.id, intent.version, IntentStatus.ACTIVE)
    alice.update_state(intent.id, intent.version, {"progress": 0.5})
    alice.assign_agent(intent.id, "bob")
    secret = alice.send_message(channel["id"], "alice", to="bob", payload={"n": 1})
    alice.send_message(channel["id"], "alice", message_type="broadcast", payload={"n": 2})
    alice.log_event(intent.id, EventType.COMMENT, {"note": "done"})

    def follow(agent, after, last):
        """What an agent's stream holds after an id, up to the event of a type."""
        url = agent.subscribe_sse(intent.id).url
        got = []
        for event in SSEStream(url, headers(agent.agent_id) | {"Last-Event-ID": after}):
            assert event.intent_id == intent.id, event
            got.append(event)
            if event.type == last:
                return got

    messages = ["channel_message", "channel_message"]
    logged = ["intent_created", "STATUS_CHANGED", "STATE_CHANGED", "AGENT_ASSIGNED"]
    got = follow(bob, "0", "comment")
    assert [e.type for e in got] == logged + messages + ["comment"], got
    _, status, state, assigned, direct, broadcast, comment = got
    assert (status.data["old_status"], status.data["new_status"]) == ("draft", "active"), status
    assert state.data["old_state"] == {} and state.data["new_state"] == {"progress": 0.5}, state
    assert assigned.agent_id == "bob" and comment.data["note"] == "done"
    assert direct.data["id"] == secret["id"] and direct.data["channel_name"] == "room"
    assert broadcast.data["payload"] == {"n": 2}
    event_ids = [e.id for e in bob.get_events(intent.id) if e.event_type == EventType.STATUS_CHANGED]
    assert [status.data["event_id"]] == event_ids
    assert [e.id for e in follow(bob, state.id, "comment")] == [e.id for e in got[3:]], "it goes on after the id"
    assert [e.type for e in follow(carol, state.id, "comment")] == ["AGENT_ASSIGNED", "channel_message", "comment"]


def check_event_queue_of_an_agent():
    intent, channel = new_channel()
    queue = bob.create_event_queue(agent_id="bob")
    queue.start()  # to stop it would take five seconds: the package waits for a thread that reads
    event, sent = None, []
    while event is None:  # the queue's stream may begin after the first message
        sent.append(alice.send_message(channel["id"], "alice", to="bob", payload={"n": len(sent)})["id"])
        event = queue.get(timeout=1)
    assert event.type == "channel_message" and event.data["id"] in sent and event.intent_id == intent.id, event
    alice.assign_agent(intent.id, "bob")
    while event.type == "channel_message":
        event = queue.get(timeout=60)
    assert (event.type, event.intent_id, event.agent_id) == ("AGENT_ASSIGNED", intent.id, "bob"), event


def check_events():
    intent, channel = new_channel(options={"audit": True})
    sent = alice.send_message(channel["id"], "alice", to="bob", payload={"n": 1})
    alice.log_event(intent.id, EventType.COMMENT, {"note": "hello"})
    events = bob.get_events(intent.id)
    assert {e.event_type for e in events} >= {EventType.COMMENT, EventType.CHANNEL_MESSAGE}, events
    [logged] = bob.get_events(intent.id, event_type=EventType.CHANNEL_MESSAGE)
    assert logged.actor == "alice" and logged.payload["message_id"] == sent["id"]
    assert logged.event_hash.startswith("sha256:")
    assert bob.get_events(intent.id, since=events[0].created_at) == []


def check_agents_list():
    bob._client.post("/api/v1/agents/register", json={"agent_id": "bob", "role_id": "reviewer"}).raise_for_status()
    assert [a["agent_id"] for a in bob._client.get("/api/v1/agents").json()] == ["bob"]
    _, channel = new_channel()
    alice.send_message(channel["id"], "alice", to="role:reviewer", payload={"n": 1})
    assert len(bob.list_messages(channel["id"], to="bob")) == 1
    assert carol.list_messages(channel["id"]) == []


def check_async_client():
    async def talk():
        async with AsyncOpenIntentClient(BASE, api_key=KEY, agent_id="alice") as asker:
            async with AsyncOpenIntentClient(BASE, api_key=KEY, agent_id="bob") as answerer:
                intent = await asker.create_intent("Async", "")
                channel = await asker.create_channel(intent.id, "room")
                asking = asyncio.create_task(asker.ask(channel["id"], "alice", "bob", {"q": 1}, timeout=60))
                found = []
                while not found:
                    found = await answerer.list_messages(channel["id"], to="bob")
                reply = await answerer.reply_to(channel["id"], found[0]["id"], "bob", payload={"a": 2})
                assert await asking == reply
                assert (await answerer.mark_read(channel["id"], found[0]["id"]))["status"] == "read"
                await asker.close_channel(channel["id"])
                assert await asker.list_channels(intent.id) == []

    asyncio.run(talk())


def check_on_message_is_never_called():
    """The page about the package says so, and why."""
    called, failed = [], threading.Event()

    class Listener(BaseAgent):
        _agent_id = "bob"

        @on_message()
        async def heard(self, message):
            called.append(message)

    class Failures(logging.Handler):
        def emit(self, record):
            if "Error handling event channel_message: ACCESS_REQUESTED" in record.getMessage():
                failed.set()

    log, handler = logging.getLogger("openintent.agents"), Failures()
    log.addHandler(handler)
    log.propagate = False
    listener = Listener(base_url=BASE, api_key=KEY)
    threading.Thread(target=listener.run, daemon=True).start()
    _, channel = new_channel()
    while not failed.wait(0.1):  # the listener's stream may begin after the first message
        alice.send_message(channel["id"], "alice", to="bob", payload={"anybody": "there?"})
    listener.stop()
    log.removeHandler(handler)
    assert called == []
    assert not hasattr(SSEEventType, "ACCESS_REQUESTED")


def check_channels_of_an_agent_class():
    class Asker(BaseAgent):  # the decorator @Agent leaves `channels` out
        _agent_id = "alice"

    async def talk():
        intent = alice.create_intent("Agents")
        asker = Asker(base_url=BASE, api_key=KEY)
        channel = await asker.channels.open("data-clarification", intent_id=intent.id)
        again = await asker.channels.open("data-clarification", intent_id=intent.id)
        assert again.channel_id == channel.channel_id
        asking = asyncio.create_task(channel.ask("bob", {"question": "What schema version?"}, timeout=60))
        found = []
        while not found:
            await asyncio.sleep(0)
            found = bob.list_messages(channel.channel_id, to="bob")
        bob.reply_to(channel.channel_id, found[0]["id"], "bob", payload={"answer": "v2.3"})
        assert (await asking)["payload"]["answer"] == "v2.3"
        assert (await channel.broadcast({"status": "starting"}))["to"] == "*"
        assert (await channel.notify("carol", {"phase": 1}))["to"] == "carol"
        await asker.async_client.close()

    asyncio.run(talk())


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            print(name, flush=True)
