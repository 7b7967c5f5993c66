"""A server in memory for an agent's runtime: what it answers is scripted, what it is told is kept, and no time passes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any

from openintent_channels import _methods as methods
from openintent_channels._agent_log import AgentLog
from openintent_channels._answers import Answers
from openintent_channels._calls import Calls
from openintent_channels._effects import Accepted, Effect, Invoke, Open, Pause, Receive, Steps
from openintent_channels._generated import agents_pb2, messages_pb2, subscriptions_pb2
from openintent_channels._handlers import DIGEST, Handler
from openintent_channels._handling import Handling
from openintent_channels._membership import Membership
from openintent_channels._runtime import Runtime
from openintent_channels._status_note import StatusNote
from openintent_channels._structs import from_struct, to_struct
from openintent_channels._tracing import Tracing
from openintent_channels._waiting import Waiting
from openintent_channels.errors import AlreadyExistsError, OpenIntentError

_LONG = 10.0
REQUEST = messages_pb2.MESSAGE_TYPE_REQUEST


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test in an event loop of its own, for a minute at most."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(test(*arguments, **named), 60)

        asyncio.run(bounded())

    return run


class _Stream:
    """One stream of deliveries: what is put into it comes out; an error is raised, None ends it."""

    def __init__(self) -> None:
        self.coming: asyncio.Queue[Any] = asyncio.Queue()
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeServer:
    """Takes the place of a connection. Short pauses pass at once; long ones when `beat` is called."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.failing: dict[str, list[OpenIntentError]] = {}
        self.inbox: list[messages_pb2.InboxItem] = []
        self.streams: list[_Stream] = []
        self.subscriptions = 0
        self.subscribed_at = 0
        self.there: subscriptions_pb2.Subscription | None = None
        """The subscription that is there; while there is one, no other is made."""
        self.stands_by = False
        self.status = agents_pb2.AGENT_STATUS_ACTIVE
        self.now = 0.0
        self._happened = asyncio.Condition()
        self._beats = asyncio.Semaphore(0)

    def clock(self) -> float:
        """The clock of the agent's log, which moves only when a test moves it."""
        return self.now

    async def run(self, steps: Steps[Any]) -> Any:
        value, error = None, None
        while True:
            try:
                effect = steps.throw(error) if error is not None else steps.send(value)
            except StopIteration as end:
                return end.value
            value, error = None, None
            try:
                value = await self.perform(effect)
            except BaseException as failure:
                error = failure

    async def rest(self, seconds: float, until: asyncio.Future[Any]) -> None:
        pausing = asyncio.ensure_future(self.perform(Pause(seconds)))
        try:
            await asyncio.wait([pausing, until], return_when=asyncio.FIRST_COMPLETED)
        finally:
            pausing.cancel()

    async def perform(self, effect: Effect) -> Any:
        match effect:
            case Pause(seconds):
                await (self._beats.acquire() if seconds >= _LONG else asyncio.sleep(0))
            case Open():
                self.streams.append(_Stream())
                if self.failing.get("StreamDeliveries"):
                    self.deliver(self.failing["StreamDeliveries"].pop(0))
                elif self.stands_by:
                    self.deliver(subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1", standing_by=True))
                else:
                    self.take_over()
                await self._tell("StreamDeliveries", effect.request)
                return self.streams[-1]
            case Accepted():
                return {"openintent-position": "0"}
            case Receive(stream):
                answer = await stream.coming.get()  # type: ignore[attr-defined]
                if isinstance(answer, OpenIntentError):
                    raise answer
                return answer
            case Invoke():
                return await self._answer(effect)
        return None

    async def _answer(self, effect: Invoke) -> Any:
        name = effect.method.name
        await self._tell(name, effect.request)
        if self.failing.get(name):
            raise self.failing[name].pop(0)
        if effect.method is methods.UPSERT_AGENT:
            return agents_pb2.Agent(heartbeat_config=agents_pb2.HeartbeatConfig(interval_seconds=30))
        if effect.method is methods.LIST_SUBSCRIPTIONS:
            return subscriptions_pb2.ListSubscriptionsResponse(subscriptions=[self.there] if self.there else [])
        if effect.method is methods.DELETE_SUBSCRIPTION:
            self.there = None
        if effect.method is methods.CREATE_SUBSCRIPTION:
            if self.there is not None:
                raise AlreadyExistsError("taken", code="ALREADY_EXISTS", reason="SUBSCRIPTION_NAME_TAKEN")
            self.subscriptions += 1
            made = subscriptions_pb2.Subscription(id=f"sub_{self.subscriptions}", active=True)
            made.created_at.FromSeconds(self.subscribed_at)
            return made
        if effect.method is methods.GET_INBOX:
            return messages_pb2.Inbox(items=self.inbox)
        if effect.method is methods.HEARTBEAT:
            beat = agents_pb2.HeartbeatResponse(agent_status=self.status)
            beat.next_heartbeat_at.FromSeconds(30)
            beat.server_timestamp.FromSeconds(0)
            return beat
        return effect.method.answer()

    async def _tell(self, name: str, request: Any) -> None:
        async with self._happened:
            self.told.append((name, request))
            self._happened.notify_all()

    def said(self, name: str) -> list[Any]:
        """Returns all requests of a method, in order."""
        return [request for told, request in self.told if told == name]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until what the server was told meets a condition."""
        async with self._happened:
            await asyncio.wait_for(self._happened.wait_for(condition), 20)

    async def until_said(self, name: str, times: int = 1) -> None:
        """Waits until a method was called that often."""
        await self.until(lambda: len(self.said(name)) >= times)

    async def until_acknowledged(self, *numbers: int) -> None:
        """Waits until exactly these deliveries are acknowledged."""
        await self.until(lambda: sorted(self.acknowledged()) == sorted(numbers))

    def acknowledged(self) -> list[int]:
        """Returns the numbers that were acknowledged."""
        return [n for request in self.said("AcknowledgeDeliveries") for n in request.numbers]

    def replies(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Returns the answers: the message that each answers, its key, and what it says."""
        told = self.said("ReplyMessage")
        return [(request.message_id, request.idempotency_key, from_struct(request.payload)) for request in told]

    def beat(self) -> None:
        """Lets one long pause end."""
        self._beats.release()

    def take_over(self) -> None:
        """Makes the newest stream the active one."""
        self.deliver(subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1"))

    def deliver(self, *what: Any) -> None:
        """Puts deliveries, or an error, on the newest stream."""
        for one in what:
            self.streams[-1].coming.put_nowait(one)


def message(id: str, kind: Any = REQUEST, sender: str = "asker", **payload: Any) -> messages_pb2.Message:
    """Makes a message to the agent."""
    return messages_pb2.Message(
        id=id, channel_id="chan", sender=sender, message_type=kind, payload=to_struct(payload), metadata=to_struct({})
    )


def delivery(number: int, wire: messages_pb2.Message | None = None) -> subscriptions_pb2.SubscriptionDelivery:
    """Makes a delivery of a message, m1 for the number 1; with an empty id, of no message."""
    made = subscriptions_pb2.SubscriptionDelivery(
        subscription_id="sub_1", number=number, attempt=1, intent_id="i", position=number, channel_name="talk"
    )
    made.message.CopyFrom(message(f"m{number}") if wire is None else wire)
    return made


def runtime(
    server: FakeServer,
    *functions: Callable[..., Any],
    concurrency: int = 4,
    drain_seconds: float = 20,
    channels: Sequence[str | None] = (None,),
    note: StatusNote | None = None,
    digests: Sequence[Callable[..., Any]] = (),
    waiting: Waiting | None = None,
) -> Runtime:
    """Makes the runtime of an agent whose handlers take the messages of each of the channels; with None as one, of all."""
    connection: Any = server
    calls, tracing = Calls(sender="me", dice=lambda: 0.0), Tracing()
    log = AgentLog("me", "host:9", server.clock)
    membership = Membership(
        connection, calls, log, "me", "role", None, (), registers=True, note=note or StatusNote(),
        waiting=waiting or Waiting(),
    )
    handlers = [Handler.of(channel, function) for channel in channels for function in functions]
    handlers += [Handler.of(None, function, DIGEST) for function in digests]
    handling = Handling(handlers, Answers(connection, calls, tracing, log), tracing, concurrency)
    return Runtime(membership, handling, concurrency, drain_seconds)
