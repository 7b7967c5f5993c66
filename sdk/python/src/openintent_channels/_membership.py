"""An agent's place at the server: its record with its role, its heartbeat, its durable subscription and its inbox."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from . import _methods as methods
from ._agent_log import AgentLog
from ._async_running import AsyncConnection
from ._calls import Calls, Starting
from ._effects import Invoke, Pause
from ._generated import agents_pb2, messages_pb2, reach_pb2, subscriptions_pb2
from ._methods import Answer, Method
from ._retrying import is_passing
from ._status_note import PAUSE, StatusNote
from ._waiting import Waiting
from .errors import AlreadyExistsError, InvalidArgumentError, OpenIntentError

SUBSCRIPTION = "sdk"
"""The name of the subscription over which an agent receives."""

_ACKNOWLEDGE_SECONDS = 3_600
_MAX_ATTEMPTS = 20
_PAGE = 100
_PROBE_SECONDS = 10.0
_DEFAULT_INTERVAL = 30
_ENDING = ("UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT")


def ends_agent(error: OpenIntentError) -> bool:
    """Whether an error ends an agent: neither another attempt nor another server would change it."""
    return error.code in _ENDING


@dataclass(slots=True)
class Membership:
    """What one agent tells the server about itself."""

    connection: AsyncConnection
    calls: Calls
    log: AgentLog
    agent_id: str
    role: str | None
    name: str | None
    capabilities: tuple[str, ...]
    registers: bool
    note: StatusNote = field(default_factory=StatusNote)
    interval: float = _DEFAULT_INTERVAL
    present: bool = False
    attends: bool = False
    """Whether messages come with what they ask of the agent."""
    took_over: bool = False
    """Whether this process became the one that receives since the last heartbeat."""
    waiting: Waiting = field(default_factory=Waiting)
    """How messages are to wait."""
    began: bool = False
    """Whether this run has had a subscription."""
    subscribed_at: int = 0
    """When the subscription was made, in nanoseconds by the server's clock."""
    starting: Starting = field(default_factory=Starting)

    async def register(self) -> None:
        """Writes the agent's record, which makes it present and gives it its role."""
        if not self.registers:
            return
        request = agents_pb2.RegisterAgentRequest(
            agent_id=self.agent_id, role_id=self.role, name=self.name, capabilities=self.capabilities
        )
        record = await self._persist(methods.UPSERT_AGENT, request)
        self.interval = record.heartbeat_config.interval_seconds or _DEFAULT_INTERVAL
        self.present = True

    async def beat_for_ever(self) -> None:
        """Tells the server, at its interval, that the agent lives. An agent that is gone registers again. So does one that
        is still draining, because the process that this one took over from said so."""
        heard = True
        while self.registers:
            # A note does not make a heartbeat come sooner after one that failed.
            await (self._until_due() if heard else self.connection.perform(Pause(self.interval)))
            heard = True
            took_over = self.took_over
            try:
                beat = await self._beat(agents_pb2.AGENT_STATUS_ACTIVE)
            except OpenIntentError as error:
                if ends_agent(error):
                    raise
                if error.reason in ("AGENT_GONE", "AGENT_NOT_FOUND"):
                    await self.register()
                    self.note.again()
                else:
                    heard = False
                    if not is_passing(error):
                        self.log.warn("had a heartbeat refused: %s", error)
            else:
                due = beat.next_heartbeat_at.ToNanoseconds() - beat.server_timestamp.ToNanoseconds()
                self.interval = max(1.0, due / 1e9)
                if took_over:
                    self.took_over = False
                    if beat.agent_status == agents_pb2.AGENT_STATUS_DRAINING:
                        await self.register()

    async def _until_due(self) -> None:
        """Waits until the next heartbeat is due: after the interval, or as soon as there is a new note."""
        least = min(PAUSE, self.interval)
        await self.connection.perform(Pause(least))
        changed = asyncio.ensure_future(self.note.changed())
        try:
            await self.connection.rest(self.interval - least, changed)
        finally:
            changed.cancel()

    async def depart(self, deregister: bool) -> None:
        """Tells the server that the agent takes on nothing new or, with `deregister`, that it leaves for good, which expires
        what waits for it. It is not an error when the server cannot be told: it notices the silence."""
        try:
            if deregister:
                request = agents_pb2.UpdateAgentStatusRequest(
                    agent_id=self.agent_id, status=agents_pb2.AGENT_STATUS_DEREGISTERED
                )
                await self.connection.run(self.calls.call(methods.UPDATE_AGENT_STATUS, request))
            elif self.present:
                await self._beat(agents_pb2.AGENT_STATUS_DRAINING)
        except OpenIntentError as error:
            self.log.warn("could not tell the server that it leaves: %s", error)

    async def confirm(self, probe_id: str) -> None:
        """Answers a probe, which asks whether this process reads its stream. Whoever probes finds out by themselves if that
        fails."""
        request = reach_pb2.ConfirmProbeRequest(agent_id=self.agent_id, probe_id=probe_id)
        with contextlib.suppress(OpenIntentError):
            await self.connection.perform(Invoke(methods.CONFIRM_PROBE, request, _PROBE_SECONDS))

    async def _persist(self, method: Method[Any, Answer], request: Any) -> Answer:
        """Makes a call however long the server is away, and says so meanwhile."""
        return await self.connection.run(self.calls.call_for_ever(method, request, self.log.failed, self.starting))

    async def _beat(self, status: agents_pb2.AgentStatus) -> agents_pb2.HeartbeatResponse:
        """Sends a heartbeat, with the agent's note if that is new. A note that the server refuses is dropped."""
        note = self.note.next
        request = agents_pb2.HeartbeatRequest(agent_id=self.agent_id, status=status, status_note=note)
        try:
            beat = await self.connection.run(self.calls.call(methods.HEARTBEAT, request))
        except InvalidArgumentError as error:
            if note is None:
                raise
            self.log.warn("had its status note refused: %s", error)
            self.note.told(note)
            return await self._beat(status)
        self.note.told(note)
        return beat

    async def subscribe(self) -> str:
        """Returns the id of the agent's subscription, and creates it when it is missing or has ended, lacks the attention
        that the agent wants or, when the agent starts, lets messages wait in another way. The requests that a replaced one
        had are in the inbox. A running agent whose subscription another process replaced takes the new one as it is: the
        process that started last decides."""
        while True:
            request = subscriptions_pb2.CreateSubscriptionRequest(
                name=SUBSCRIPTION,
                subscriber_id=self.agent_id,
                event_types=["channel_message"],
                acknowledge_seconds=_ACKNOWLEDGE_SECONDS,
                max_attempts=_MAX_ATTEMPTS,
                include=self._included,
                **self.waiting.fields(),
            )
            try:
                return self._subscribed(await self._persist(methods.CREATE_SUBSCRIPTION, request))
            except AlreadyExistsError:
                found = await self._find()
            if found is not None and found.active and self._accepts(found):
                return self._subscribed(found)
            if found is not None:
                await self._forget(found.id)

    def _accepts(self, there: subscriptions_pb2.Subscription) -> bool:
        if self.began or self.waiting.is_of(there):
            return set(self._included) <= set(there.include)
        self.log.replaces()
        return False

    def _subscribed(self, subscription: subscriptions_pb2.Subscription) -> str:
        self.began = True
        self.subscribed_at = subscription.created_at.ToNanoseconds()
        return subscription.id

    @property
    def _included(self) -> list[str]:
        return ["attention"] if self.attends else []

    async def _find(self) -> subscriptions_pb2.Subscription | None:
        request = subscriptions_pb2.ListSubscriptionsRequest(subscriber_id=self.agent_id)
        while True:
            page = await self._persist(methods.LIST_SUBSCRIPTIONS, request)
            found = next((s for s in page.subscriptions if s.name == SUBSCRIPTION), None)
            if found is not None or not page.next_cursor:
                return found
            request.cursor = page.next_cursor

    async def _forget(self, subscription_id: str) -> None:
        request = subscriptions_pb2.DeleteSubscriptionRequest(subscription_id=subscription_id)
        try:
            await self._persist(methods.DELETE_SUBSCRIPTION, request)
        except OpenIntentError as error:
            if error.code != "NOT_FOUND":
                raise

    async def waiting_requests(self) -> AsyncIterator[messages_pb2.InboxItem]:
        """Yields the requests that wait for an answer from the agent, oldest first. It leaves out those that the agent has
        read: they were handled before, without an answer."""
        cursor: str | None = None
        while True:
            request = messages_pb2.GetInboxRequest(
                agent_id=self.agent_id, limit=_PAGE, cursor=cursor, include=self._included
            )
            page = await self._persist(methods.GET_INBOX, request)
            for item in page.items:
                if item.message.message_type == messages_pb2.MESSAGE_TYPE_REQUEST and not item.read:
                    yield item
            if not page.HasField("next_cursor"):
                return
            cursor = page.next_cursor
