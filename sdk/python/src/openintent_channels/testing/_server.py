"""A server in a test: its addresses, its clients, its time, and what was said on it."""

from __future__ import annotations

import contextlib
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from .. import _pace
from ..agents import AgentBase
from ..async_client import AsyncOpenIntentClient
from ..client import OpenIntentClient
from ..models import Intent
from ._apart import Apart
from ._awaited import Awaited
from ._calm import Wire, pause_since, time_of
from ._peers import Peer
from ._program import Program, ServerError
from ._record import Said, Wanted, check_names, described, listed, matches
from ._time import MovedTime

KEY = "dev-key-001"
"""The key of a server in a test."""

_WITHIN = 5.0
_QUIET_SECONDS = 0.15
_MOST_STEPS = 360
_BEGINNING = "1970-01-01T00:00:00Z"
"""A time before all messages. A list that begins there begins with the oldest."""
_NEXT = re.compile('<([^>]*)>; *rel="next"')


class Server:
    """A server that runs for a test. Its time stands, until `advance` moves it. All its methods block; within asyncio, write
    `await server.aio.METHOD(...)`."""

    def __init__(self, program: Program, moved: MovedTime | None) -> None:
        self._program = program
        self._moved = moved
        self._peers: list[Peer] = []
        self._clients: list[OpenIntentClient] = []
        self.http = f"http://{program.http}"
        """The address of REST."""
        self.grpc = program.grpc
        """The address of gRPC, as host:port."""

    @property
    def aio(self) -> Any:
        """The same methods, to be awaited."""
        return Awaited(self)

    @property
    def environment(self) -> dict[str, str]:
        """What clients and agents read from their environment to find this server."""
        return {"OPENINTENT_SERVER": self.grpc, "OPENINTENT_URL": self.http, "OPENINTENT_API_KEY": KEY}

    @property
    def log(self) -> str:
        """What the server has said."""
        return self._program.log

    def client(self, agent_id: str | None = None) -> OpenIntentClient:
        """Returns a client that acts as an agent, or without one as the operator. The server closes it at the end."""
        client = OpenIntentClient(self.grpc, api_key=KEY, agent_id=agent_id, tls=False)
        self._clients.append(client)
        return client

    def async_client(self, agent_id: str | None = None) -> AsyncOpenIntentClient:
        """Returns a client for asyncio; close it, for example with `async with`."""
        return AsyncOpenIntentClient(self.grpc, api_key=KEY, agent_id=agent_id, tls=False)

    def peer(self, agent_id: str, role: str | None = None) -> Peer:
        """Returns an agent that does what its script says. It joins with the first line of the script."""
        peer = Peer(agent_id, role, self.grpc, KEY)
        self._peers.append(peer)
        return peer

    @contextlib.contextmanager
    def running(self, agent: AgentBase) -> Iterator[AgentBase]:
        """Runs an agent for the length of a block, in a thread of its own, so that the test may block."""
        apart = Apart(agent, self.grpc, KEY)
        apart.start()
        try:
            yield agent
        finally:
            apart.leave()

    def advance(self, seconds: float) -> None:
        """Lets time pass: for the server, and for the clients and agents of this process, which renew what they hold and
        send their heartbeats on the way. Returns when what fell due is done."""
        if self._moved is None:
            raise RuntimeError("this server's time flows by itself; start it with test_clock=True to move it")
        if self._moved.belongs_to_this_thread():
            raise RuntimeError("advance blocks the event loop of what waits for it; write: await server.aio.advance(...)")
        left, least = float(seconds), seconds / _MOST_STEPS
        self._moved.settle()
        while True:
            step = min(left, max(self._moved.until_next(), least, 0.001))
            self.call("POST", "/v1/test/clock", {"advance_seconds": step})
            self._moved.move(step)
            left -= step
            if left <= 0:
                return

    def now(self) -> datetime:
        """Returns the time by the server's clock."""
        if self._moved is None:
            return datetime.now(timezone.utc)
        moved = self.call("POST", "/v1/test/clock", {"advance_seconds": 0})
        return time_of(moved["now"])

    def settle(self) -> None:
        """Returns when the agents that live have handled everything that has reached them: nothing waits for an
        acknowledgement, and that stays so for 0.15 seconds. Raises AssertionError after 5 seconds."""
        begun, before, since = time.monotonic(), None, time.monotonic()
        while True:
            if self._moved is not None:
                self.now()  # whoever waits has looked
            subscriptions = self._list("/v1/subscriptions")
            state = [(s["id"], s["last_number"], s["acknowledged_through"]) for s in subscriptions]
            waits = [s["subscriber_id"] for s in subscriptions if s["outstanding_count"] and self._lives(s["subscriber_id"])]
            if waits or state != before:
                before, since = state, time.monotonic()
            elif time.monotonic() - since >= _QUIET_SECONDS:
                return
            if time.monotonic() - begun > _WITHIN:
                raise AssertionError(f"after {_WITHIN:g} s something still waits for {', '.join(waits) or 'the agents'}")
            pause_since(begun)

    def said(self, intent: Intent | str, **wanted: Wanted) -> list[Said]:
        """Lists what was said in an intent, oldest first: all, or the messages whose fields are as wanted. A wanted value
        must be equal, or is a function that returns whether it will do, as in `payload=lambda p: "schema" in p`."""
        check_names(Said, wanted)
        return [message for message in self._read(intent) if matches(message, wanted)]

    def assert_said(self, intent: Intent | str, *, within: float = _WITHIN, **wanted: Wanted) -> Said:
        """Waits, at most for so many seconds, until something was said as wanted, and returns it. Raises AssertionError with
        what was said instead."""
        begun = time.monotonic()
        while not (found := self.said(intent, **wanted)):
            if time.monotonic() - begun > within:
                everything = listed(self._read(intent))
                raise AssertionError(f"nobody said this: {described(wanted)}. What was said:\n{everything}")
            pause_since(begun)
        return found[0]

    def assert_not_said(self, intent: Intent | str, **wanted: Wanted) -> None:
        """Settles, and raises AssertionError if something was said as wanted."""
        self.settle()
        if found := self.said(intent, **wanted):
            raise AssertionError(f"this was said, and nobody should say {described(wanted)}:\n{listed(found)}")

    def at_work(self, agent_id: str) -> bool:
        """Whether an agent has something that it has not acknowledged."""
        if self._moved is not None:
            self.now()  # whoever waits has looked
        subscriptions = self._list(f"/v1/subscriptions?subscriber_id={urllib.parse.quote(agent_id)}")
        return any(subscription["outstanding_count"] for subscription in subscriptions) and self._lives(agent_id)

    def _lives(self, agent_id: str) -> bool:
        """Whether something of an agent listens. One that has died handles nothing any more."""
        return bool(self.call("GET", f"/v1/agents/{urllib.parse.quote(agent_id)}/reach")["level"] == "live")

    def woken(self, channel_id: str, message_id: str) -> list[str]:
        """Lists the agents that have done something with a message, and have not left it out."""
        return [delivery["agent_id"] for delivery in self._deliveries(channel_id, message_id) if _woke(delivery)]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Makes a call over REST as the operator, and returns its answer. Raises ServerError for a refusal."""
        return self._call(method, path, body)[0]

    def _list(self, path: str) -> list[Wire]:
        """Reads all pages of a list over REST as the operator."""
        found: list[Wire] = []
        following: str | None = path
        while following:
            page, following = self._call("GET", following)
            found += page
        return found

    def _call(self, method: str, path: str, body: Any = None) -> tuple[Any, str | None]:
        """Makes a call over REST, and returns its answer and the path of the next page."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
        request = urllib.request.Request(self.http + path, data, headers, method=method)
        try:
            with _direct.open(request, timeout=60) as answer:
                following = _NEXT.search(answer.headers.get("Link", ""))
                return json.load(answer), following and following[1]
        except urllib.error.HTTPError as error:
            with error:
                raise ServerError(f"{method} {path}: {error.read().decode(errors='replace')}") from None

    def close(self) -> None:
        """Ends the peers, the clients and the server."""
        with contextlib.ExitStack() as ends:  # each, also after one that fails
            ends.callback(self._program.stop)
            for client in self._clients:
                ends.callback(client.close)
            for peer in self._peers:
                ends.callback(peer.close)

    def _read(self, intent: Intent | str, dispositions: bool = True) -> list[Said]:
        """Reads everything that was said in an intent; on demand without dispositions, each of which costs a call."""
        found = [self._said(channel, message, dispositions) for channel, message in self._messages(intent)]
        return sorted(found, key=lambda message: message.created_at)

    def _messages(self, intent: Intent | str) -> list[tuple[str, Wire]]:
        """Reads the messages of an intent, each with the name of its channel."""
        channels = self._list(f"/v1/intents/{intent if isinstance(intent, str) else intent.id}/channels")
        return [
            (channel["name"], message)
            for channel in channels
            for message in self._list(f"/v1/channels/{channel['id']}/messages?since={_BEGINNING}")
        ]

    def _deliveries(self, channel_id: str, message_id: str) -> list[Wire]:
        return self._list(f"/v1/channels/{channel_id}/messages/{message_id}/deliveries")

    def _said(self, channel: str, wire: Wire, dispositions: bool) -> Said:
        deliveries = self._deliveries(wire["channel_id"], wire["id"]) if dispositions else []
        return Said(
            id=wire["id"],
            channel_id=wire["channel_id"],
            channel=channel,
            sender=wire["sender"],
            to=_addressee(wire.get("to")),
            message_type=wire["message_type"],
            payload=wire["payload"],
            correlation_id=wire.get("correlation_id"),
            subject=wire.get("subject"),
            created_at=_sortable(wire["created_at"]),
            dispositions={d["agent_id"]: d["disposition"] for d in deliveries if d.get("disposition")},
        )


def _addressee(to: str | None) -> str | None:
    """Returns the agent or role that a message is to; None if it is to everyone."""
    return None if to == "*" else to


def _woke(delivery: dict[str, Any]) -> bool:
    read = delivery.get("read_at") and delivery.get("disposition") != "ignored"
    return bool(delivery.get("answered_at") or delivery.get("surfaced_at") or read)


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Calls the server itself, whatever proxy the environment names."""


def _sortable(stamp: str) -> str:
    """Returns a time of the server with six digits after the second, so that texts have the order of times."""
    seconds, _, rest = stamp.rstrip("Z").partition(".")
    return f"{seconds}.{rest:0<6}Z"


@contextlib.contextmanager
def run_server(
    *, test_clock: bool = True, database_url: str = "sqlite::memory:", arguments: Sequence[str] = ()
) -> Iterator[Server]:
    """Starts a server for the length of a block. Without `test_clock` its time flows by itself. `arguments` are further
    flags of `openintent serve`. Raises ServerError if it is not found or does not start."""
    moved = MovedTime() if test_clock else None
    flags = [f"--database-url={database_url}", *(["--test-clock"] if test_clock else []), *arguments]
    with _pace.moved_by(moved) if moved else contextlib.nullcontext():
        server = Server(Program(flags), moved)
        try:
            yield server
        finally:
            server.close()
