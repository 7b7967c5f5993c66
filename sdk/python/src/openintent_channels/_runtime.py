"""An agent at work: it receives, handles several messages at once, answers, acknowledges, and leaves in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from . import _methods as methods
from ._agent_log import logger
from ._calls import Starting
from ._conversation import takes_claims
from ._effects import Accepted, Open, Pause, Receive, Stream
from ._generated import subscriptions_pb2
from ._handling import Handling, Outcome
from ._membership import Membership, ends_agent
from ._received import Received, is_for_handlers, received_of
from ._reporting import Reporting
from ._turns import MOST_ASIDE, DigestJob, Job
from ._work import Delivery, Work
from .attention import given_attention
from .digests import digest_of
from .errors import OpenIntentError

T = TypeVar("T")

_POSITION = "openintent-position"
_ENDED = ("SUBSCRIPTION_ENDED", "SUBSCRIPTION_NOT_FOUND")
_LEAST_OUTSTANDING, _MOST_OUTSTANDING = 100, 1_000
_FAREWELL_SECONDS = 5.0

_GATHERING = 0.025
"""How many seconds, at most, finished deliveries wait for more of them. It is less than the time after which the server
stores what it has sent, so what is handled soon is never stored."""

_COMES_AGAIN = "DELIVERY_COMES_AGAIN"
"""The reason of the refusal to acknowledge a delivery that a replaced stream has sent."""

STREAM_FIRST = 1.0
"""How many seconds the stream comes first, before the rest of the inbox is read."""

_ON_ITS_WAY = 5.0
"""How many seconds after it found a message in the inbox an agent that leaves waits, at most, for the delivery of it."""


class Runtime:
    """One run of an agent. It begins messages in the order in which they come. An error that ends one of its tasks ends the
    run."""

    def __init__(
        self,
        membership: Membership,
        handling: Handling,
        concurrency: int,
        drain_seconds: float,
        reports: Reporting | None = None,
        skip_unaddressed: bool = False,
    ) -> None:
        self._membership = membership
        self._connection = membership.connection
        self._calls = membership.calls
        self._log = membership.log
        self._handling = handling
        self._reports = reports
        self._skip_unaddressed = skip_unaddressed
        # How many deliveries may be unacknowledged: those being handled, and more that wait for a place or for their
        # acknowledgement. A quarter of them is acknowledged without delay, so that the stream goes on meanwhile.
        self._outstanding = min(_MOST_OUTSTANDING, max(_LEAST_OUTSTANDING, 4 * concurrency))
        self._drain_seconds = drain_seconds
        self._work = Work()
        self._queue: deque[list[Job | DigestJob]] = deque()
        self._places = concurrency
        self._begins = True
        self._receiving = asyncio.Event()
        self._leaving = asyncio.Event()
        self._finished = asyncio.Event()
        self._many = asyncio.Event()
        self._came = asyncio.Event()
        self._looked_at = 0.0
        self._deregister = False
        self._tasks: list[asyncio.Task[None]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._aside: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Registers, subscribes, and returns once the server has agreed to deliver."""
        subscription = await self._or_gives_up(self._join())
        parts: list[Coroutine[Any, Any, None]] = [
            self._receive_for_ever(subscription),
            self._membership.beat_for_ever(),
            self._acknowledge_for_ever(),
        ]
        if self._reports is not None:
            parts.append(self._reports.report_for_ever())
        self._tasks = [asyncio.ensure_future(self._or_gives_up(part)) for part in parts]
        await self._until(self._receiving)

    async def _join(self) -> str:
        await self._membership.register()
        subscription = await self._membership.subscribe()
        self._membership.starting = Starting(over=True)
        return subscription

    async def _or_gives_up(self, part: Coroutine[Any, Any, T]) -> T:
        """Does a part of the agent's work. An error of it ends the agent, which says so at once."""
        try:
            return await part
        except Exception as error:
            self._log.gives_up(error)
            raise

    async def until_left(self) -> None:
        """Waits until somebody asks the agent to leave, or a failure ends it."""
        await self._until(self._leaving)

    @property
    def is_at_work(self) -> bool:
        """Whether it has started and nobody has asked it to leave."""
        return self._receiving.is_set() and not self._leaving.is_set()

    def leave(self, deregister: bool) -> None:
        """Asks the agent to leave."""
        self._deregister = self._deregister or deregister
        self._leaving.set()

    async def drain(self) -> None:
        """Takes nothing new, lets the running handlers finish within the agreed time, and tells the server what is done. The
        stream ends last, because another process that runs the agent takes over then, and gets what is not acknowledged."""
        receiving, beating, acknowledging = self._tasks[:1], self._tasks[1:2], self._tasks[2:]
        self._begins = False
        await _end(*beating, *self._aside)
        await self._until_brought(receiving)
        self._log.leaving(len(self._running))
        departed = asyncio.ensure_future(self._membership.depart(False))
        if self._running:
            _, running = await asyncio.wait(self._running, timeout=self._drain_seconds)
            if running:
                self._log.left_before(len(running))
        await _end(*self._running)
        await _end(*acknowledging)
        try:
            await asyncio.wait_for(self._farewell(departed), _FAREWELL_SECONDS)
        except asyncio.TimeoutError:
            self._log.warn("left before the server had heard of everything it did")
        await _end(*receiving, *self._aside)
        if self._deregister:  # not earlier: a stream that is open then would register the agent again
            await self._deregistered()
        self._handling.close()
        self._log.left()

    async def _deregistered(self) -> None:
        try:
            await asyncio.wait_for(self._membership.depart(True), _FAREWELL_SECONDS)
        except asyncio.TimeoutError:
            self._log.warn("left before the server had heard that it leaves for good")

    async def _until_brought(self, receiving: list[asyncio.Task[None]]) -> None:
        """Waits for the deliveries of what was found in the inbox a moment ago. Nobody could acknowledge them otherwise, and
        the agent's next run would handle these messages again."""
        left = self._looked_at + _ON_ITS_WAY - self._calls.clock()
        if left <= 0 or not self._work.expects or any(task.done() for task in receiving):
            return
        late = asyncio.ensure_future(self._connection.perform(Pause(left)))
        while self._work.expects and not late.done() and not any(task.done() for task in receiving):
            self._came.clear()
            came = asyncio.ensure_future(self._came.wait())
            await asyncio.wait([came, late, *receiving], return_when=asyncio.FIRST_COMPLETED)
            came.cancel()
        late.cancel()

    async def _farewell(self, departed: asyncio.Future[None]) -> None:
        try:
            await self._acknowledge()
        except OpenIntentError as error:
            self._log.warn("could not acknowledge its last deliveries: %s", error)
        if self._reports is not None:
            await self._reports.report()
        await departed

    async def _until(self, event: asyncio.Event) -> None:
        """Waits for the event, or for the first task that fails, whose error is raised."""
        awaited = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait([awaited, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            awaited.cancel()
        for task in self._tasks:
            if task.done():
                task.result()

    async def _receive_for_ever(self, subscription: str) -> None:
        """Streams deliveries, on a new stream whenever one is lost."""
        waits = self._calls.waits()
        while True:
            request = subscriptions_pb2.StreamDeliveriesRequest(
                subscription_id=subscription, max_outstanding=self._outstanding, announce_active=True, probes=True
            )
            stream: Stream = await self._connection.perform(Open(methods.STREAM_DELIVERIES, request))
            try:
                if _POSITION in await self._connection.perform(Accepted(stream)):
                    waits.succeeded()
                    self._receiving.set()
                receive = Receive(stream)
                while (delivery := await self._connection.perform(receive)) is not None:
                    if delivery.probe_id:
                        self._beside(self._membership.confirm(delivery.probe_id))
                    elif delivery.number:
                        self._accept(delivery)
                    else:
                        await self._announced(delivery.standing_by)
                self._log.lost("the server ended the stream")
                wait = waits.after()
            except OpenIntentError as error:
                if ends_agent(error):
                    raise
                self._log.lost(error)
                wait = waits.after(error)
                if error.reason in _ENDED:
                    subscription = await self._join()
            finally:
                stream.cancel()
            await self._connection.perform(Pause(wait))

    async def _announced(self, stands_by: bool) -> None:
        """Takes up what waits in the inbox when this process has become the one that receives for the agent."""
        self._log.connected(stands_by)
        if stands_by:
            return
        self._membership.took_over = True
        if await self._take_inbox(lambda sent: sent <= self._membership.subscribed_at):
            self._beside(self._take_rest())

    def _beside(self, part: Coroutine[Any, Any, None]) -> None:
        """Begins something that the agent does not wait for, and gives up when it leaves."""
        task = asyncio.ensure_future(part)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def _take_rest(self) -> None:
        """Takes up what the subscription did not bring although it is newer: requests from before the agent took a role or
        gained access. What the subscription brings comes over the stream, which knows the attempt."""
        await self._connection.perform(Pause(STREAM_FIRST))
        try:
            await self._take_inbox(lambda _: True)
        except OpenIntentError as error:
            self._log.warn("could not read its inbox: %s", error)

    async def _take_inbox(self, wanted: Callable[[int], bool]) -> bool:
        """Takes up requests from the inbox, if they are wanted by when they were sent. Returns whether others are there."""
        others = False
        async for item in self._membership.waiting_requests():
            if self._leaving.is_set():
                return False
            if not wanted(item.message.created_at.ToNanoseconds()):
                others = True
                continue
            attention = given_attention(item)
            self._looked_at = self._calls.clock()
            received = Received(item.message, item.intent_id, item.channel_name, None, 1, attention)
            if is_for_handlers(received, self._membership.agent_id) and (jobs := self._take(received, None)):
                self._begin(jobs)
        return others

    def _accept(self, wire: subscriptions_pb2.SubscriptionDelivery) -> None:
        """Takes up a delivery, or passes it over when it is not for handlers. What came with it is handled in turn, messages
        first and oldest first. If that comes to nothing for some of it, the delivery comes again; this process then leaves
        out the rest."""
        messages, digest = received_of(wire, self._membership.agent_id), digest_of(wire)
        count = len(messages) + (digest is not None)
        delivery = Delivery((wire.subscription_id, wire.number), count)
        jobs: list[Job | DigestJob] = [job for received in messages for job in self._take(received, delivery)]
        digest_id = f"digest {wire.number} of {wire.subscription_id}"
        if digest is not None and not self._handling.handles_digests:
            self._log.digest_unhandled(digest.message_count)
            self._work.pass_over(delivery)
        elif digest is not None and self._work.admit(digest_id, delivery):
            jobs.append(DigestJob(digest_id, digest))
        if jobs:
            self._begin(jobs)
        elif not count:
            self._work.pass_over(delivery)
        self._done()

    def _take(self, received: Received, numbered: Delivery | None) -> list[Job | DigestJob]:
        """Returns the job for a message, if it is to be handled."""
        wire, jobs = received.wire, list[Job | DigestJob]()
        if self._reports is not None and self._is_unaddressed(received):
            self._reports.disposed(received, "ignored")
            self._work.pass_over(numbered)
        elif not self._handling.handles(received):
            self._log.unhandled(received.channel_name, self._handling.channels)
            self._work.pass_over(numbered)
        elif self._work.admit(wire.id, numbered):
            found = numbered is None
            jobs.append(Job(received, found and wire.created_at.ToNanoseconds() > self._membership.subscribed_at))
        self._came.set()
        self._done()
        return jobs

    def _is_unaddressed(self, received: Received) -> bool:
        """Whether the agent leaves a message out because an answer to it would only disturb. A request that takes claims is
        not left out: others may hold the claims now, and lose them."""
        attention = received.attention
        unaddressed = attention is not None and attention.policy == "must_not_respond"
        return self._skip_unaddressed and unaddressed and not takes_claims(received.wire)

    def _begin(self, *jobs: list[Job | DigestJob]) -> None:
        """Begins the messages that wait, in order, as far as places are free; these come after the others."""
        self._queue.extend(jobs)
        while self._begins and self._places and self._queue:
            self._places -= 1
            task = asyncio.ensure_future(self._handle_in_turn(self._queue.popleft()))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _handle_in_turn(self, jobs: list[Job | DigestJob]) -> None:
        """Handles what came with one delivery. What is put aside does not hold up the rest."""
        try:
            for job in jobs:
                if isinstance(job, DigestJob):
                    await self._handling.handle_digest(job.digest)
                    self._work.finish(job.id)
                    self._done()
                else:
                    await self._handle(job)
        finally:
            self._places += 1
            self._begin()

    async def _handle(self, job: Job) -> None:
        received, message_id = job.received, job.received.wire.id
        if job.expected:
            self._work.expect(message_id)
        try:
            outcome = await self._handling.handle(received, not takes_claims(received.wire) or job.is_last())
        except OpenIntentError as error:
            self._log.answer_refused(received.channel_name, message_id, error)
            self._work.drop(message_id)
        except BaseException:
            self._work.drop(message_id)
            raise
        else:
            if outcome is Outcome.DONE:
                self._work.finish(message_id)
            else:
                self._put_aside(job, outcome)
            self._done()

    def _put_aside(self, job: Job, outcome: Outcome) -> None:
        """Begins a request again after a while. When too many wait, it is left to others."""
        message_id = job.received.wire.id
        if len(self._aside) >= MOST_ASIDE:
            self._work.leave(message_id)
            return
        self._work.set_aside(message_id)
        job.expected = False
        self._beside(self._begin_later(job, job.wait(outcome, self._calls.dice)))

    async def _begin_later(self, job: Job, seconds: float) -> None:
        await self._connection.perform(Pause(seconds))
        self._begin([job])

    def _done(self) -> None:
        self._finished.set()
        if 4 * self._work.unacknowledged >= self._outstanding:
            self._many.set()

    async def _acknowledge_for_ever(self) -> None:
        while True:
            await self._finished.wait()
            await self._gather()
            self._finished.clear()
            self._many.clear()
            await self._acknowledge()

    async def _gather(self) -> None:
        """Waits for a while until more deliveries are finished."""
        pause = asyncio.ensure_future(self._connection.perform(Pause(_GATHERING)))
        pause.add_done_callback(self._gathered)
        try:
            await self._many.wait()
        finally:
            pause.cancel()

    def _gathered(self, pause: asyncio.Future[None]) -> None:
        if not pause.cancelled():
            self._many.set()

    async def _acknowledge(self) -> None:
        """Tells the server which deliveries are finished. Those that it does not accept come again, and are passed over."""
        while (page := self._work.acknowledgeable()) is not None:
            subscription, numbers = page
            while numbers:
                numbers = await self._acknowledge_page(subscription, numbers)

    async def _acknowledge_page(self, subscription: str, numbers: list[int]) -> list[int]:
        """Makes one call. Returns the numbers that another call must have: all but one, when a replaced stream sent that
        one. Its message comes again under a new number, is recognized as handled, and is acknowledged then."""
        request = subscriptions_pb2.AcknowledgeDeliveriesRequest(subscription_id=subscription, numbers=numbers)
        try:
            await self._connection.run(self._calls.call_for_ever(methods.ACKNOWLEDGE_DELIVERIES, request))
        except asyncio.CancelledError:
            self._work.put_back(subscription, numbers)  # the farewell acknowledges them
            raise
        except OpenIntentError as error:
            if error.code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
                raise
            rest = [number for number in numbers if str(number) != error.metadata.get("number")]
            if error.reason == _COMES_AGAIN and len(rest) < len(numbers):
                logger.debug("a delivery comes again: %s", error)
                return rest
            self._log.warn("could not acknowledge the deliveries %s: %s", numbers, error)
        return []


async def _end(*tasks: asyncio.Future[None]) -> None:
    """Cancels tasks and waits until they have ended, whatever their results."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
