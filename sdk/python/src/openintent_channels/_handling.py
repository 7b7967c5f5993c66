"""Handling one message: its handlers are called one after the other, and the first to return something answers."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeVar

from ._agent_message import BlockingAgentMessage
from ._answers import Answers, is_late
from ._async_agent_message import AgentMessage
from ._async_conversation_calls import AsyncConversationCalls
from ._async_running import AsyncConnection
from ._awaiting import is_cancelled
from ._conversation import Conversation, Place, takes_claims
from ._conversation_calls import ConversationCalls
from ._effects import Steps
from ._handlers import DIGEST, Answer, Handler, about_of, answer_of, failure_of, matching
from ._places import Kept, Places
from ._received import Received
from ._reporting import Reporting
from ._tracing import Tracing
from .digests import Digest
from .errors import AlreadyExistsError, OpenIntentError, PayloadError
from .models import Message, message_fields
from .payloads import encode

T = TypeVar("T")


class Outcome(enum.Enum):
    """What came of a message."""

    DONE = enum.auto()
    TAKEN = enum.auto()
    """Others hold the claims on it."""
    FAILED = enum.auto()
    """Its handlers failed under a claim, which is released."""


@dataclass(slots=True)
class _Course:
    """What happened to a message while its handlers were called."""

    place: Place
    last: bool = True
    replies: int = 0
    answered: bool = False
    failed: bool = False
    late: list[BaseException] = field(default_factory=list)

    @property
    def gives_up(self) -> bool:
        """Whether a failure is left to another attempt."""
        return self.failed and not self.last


@dataclass(frozen=True, slots=True)
class _FromThread:
    """A connection for handlers in threads: the event loop of the agent carries its rules out."""

    connection: AsyncConnection
    loop: asyncio.AbstractEventLoop

    def run(self, steps: Steps[T]) -> T:
        """Carries out a rule to its end."""
        return asyncio.run_coroutine_threadsafe(self.connection.run(steps), self.loop).result()


class Handling:
    """Calls an agent's handlers: async ones in the event loop, plain ones in threads."""

    def __init__(
        self,
        handlers: Sequence[Handler],
        answers: Answers,
        tracing: Tracing,
        concurrency: int,
        reports: Reporting | None = None,
    ) -> None:
        self._handlers = tuple(handler for handler in handlers if handler.about != DIGEST)
        self._digest_handlers = tuple(handler for handler in handlers if handler.about == DIGEST)
        self._answers = answers
        self._log = answers.log
        self._tracing = tracing
        self._conversation = Conversation(answers.calls)
        self._places = Places(answers.connection, self._conversation, answers.log)
        self._reports = reports
        self._takers_on = lru_cache(maxsize=1024)(partial(matching, self._handlers))
        self._calls = AsyncConversationCalls(answers.connection, self._conversation)
        self._threads = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="openintent-handler")

    def handles(self, received: Received) -> bool:
        """Whether any handler takes a message."""
        return bool(self._takers(received))

    def _takers(self, received: Received) -> list[Handler]:
        about = about_of(received.attention.reason) if received.attention else ""
        return self._takers_on(received.channel_name, about)

    @property
    def channels(self) -> list[str]:
        """The names of the channels that have handlers."""
        return sorted({handler.channel for handler in self._handlers if handler.channel is not None})

    def close(self) -> None:
        """Lets go of the threads. A handler that still runs in one ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def handles_digests(self) -> bool:
        """Whether there is a handler for digests."""
        return bool(self._digest_handlers)

    async def handle_digest(self, digest: Digest) -> None:
        """Calls the handlers of digests, one after the other. Their failures are logged."""
        for handler in self._digest_handlers:
            try:
                await self._invoke(handler, digest)
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:
                if isinstance(error, asyncio.CancelledError) and is_cancelled():
                    raise
                self._log.digest_failed(error)

    async def handle(self, received: Received, last: bool = True) -> Outcome:
        """Calls the handlers of a message and stores its answer. It raises only what keeps the answer from being stored. A
        request that takes a certain number of answers is claimed before; while this is not the `last` attempt at it, a
        failure is not answered."""
        if not takes_claims(received.wire):
            await self._in_turn(received, _Course(Place()))
            return Outcome.DONE
        kept = await self._places.take(received)
        if not isinstance(kept, Kept):
            return Outcome.TAKEN if kept else Outcome.DONE
        return await self._under_claim(received, kept, last)

    async def _under_claim(self, received: Received, kept: Kept, last: bool) -> Outcome:
        """Calls the handlers until they have ended or the claim is lost, which cancels async ones."""
        course = _Course(Place(kept.held.fence), last)
        handling = asyncio.ensure_future(self._in_turn(received, course))
        try:
            await asyncio.wait([handling, kept.renewing], return_when=asyncio.FIRST_COMPLETED)
            if not handling.done() and kept.renewing.result():
                return Outcome.TAKEN
            await handling
        finally:
            handling.cancel()
            kept.renewing.cancel()
            await asyncio.wait([handling, kept.renewing])
        if not course.answered and not course.replies:
            await self._places.give_back(kept, course.gives_up)
        return Outcome.FAILED if course.gives_up else Outcome.DONE

    async def _in_turn(self, received: Received, course: _Course) -> None:
        fields = message_fields(received.wire)
        fields.update(
            position=received.position,
            intent_id=received.intent_id,
            channel_name=received.channel_name,
            attempt=received.attempt,
            source_ids=received.source_ids,
            attention=received.attention,
            place=course.place,
        )
        attributes = {"openintent.message_id": fields["id"], "openintent.channel": received.channel_name}
        asks = fields["message_type"] == "request"
        reply = self._replying(received, course, asks)
        if self._reports is not None:
            self._reports.surfaced(received)
        with self._tracing.handling(fields["metadata"], attributes) as span:
            for handler in self._takers(received):
                answer = await self._outcome(handler, fields, reply, course, span)
                if answer is None:
                    continue
                course.failed = course.failed or answer.failed
                if course.gives_up:
                    return
                if asks and not course.answered:
                    course.answered = True
                    await self._answers.settle(received, answer, f"sdk-reply-{fields['id']}", course.place.fence)
            if asks and not course.answered:
                await self._answers.forgo(received)
        self._report(received, course, asks)

    def _replying(self, received: Received, course: _Course, asks: bool) -> Any:
        """Returns what a handler replies with."""
        further = itertools.count(1)

        async def reply(
            payload: Any, metadata: Mapping[str, Any] | None, options: Mapping[str, Any]
        ) -> Message | None:
            key = f"sdk-reply-{received.wire.id}-{next(further)}"
            try:
                if asks:
                    said = {"fence": course.place.fence, **options}
                    stored = await self._answers.send(received, Answer(encode(payload)), key, metadata, said)
                else:
                    stored = await self._answers.follow_up(received, encode(payload), key, metadata, options)
            except AlreadyExistsError:  # before a crash, another answer was stored in its place
                return None
            except OpenIntentError as error:
                if is_late(error):
                    course.late.append(error)
                raise
            course.replies += 1
            return stored

        return reply

    def _report(self, received: Received, course: _Course, asks: bool) -> None:
        """Notes what became of a message. An answer to a request says it by itself."""
        if self._reports is None:
            return
        if course.failed:
            self._reports.disposed(received, "failed")
        elif not (course.answered or course.replies):
            self._reports.disposed(received, "acknowledged")
        elif not asks:
            self._reports.disposed(received, "responded")

    async def _outcome(
        self, handler: Handler, fields: dict[str, Any], reply: Any, course: _Course, span: Any
    ) -> Answer | None:
        """Calls a handler and returns what its result or its failure answers. A failure is logged and noted in the span. A
        reply of its own that came too late is none: nobody is there to be told."""
        result: Any = None
        try:
            result = await self._call(handler, fields, reply)
            return answer_of(result)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # whatever it is, the asker must hear of it
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if isinstance(error, OpenIntentError) and any(error is told for told in course.late):
                self._log.too_late(fields["channel_name"], fields["id"], error)
                return None
            if isinstance(error, PayloadError) and (result is not None or error.message_id == fields["id"]):
                self._log.unfit(fields["channel_name"], fields["id"], result is not None, error)
            else:
                self._log.handler_failed(fields["channel_name"], fields["id"], error)
            if span is not None:
                span.record_exception(error)
            return failure_of(error)

    async def _call(self, handler: Handler, fields: dict[str, Any], reply: Any) -> Any:
        if handler.is_async:
            return await self._invoke(handler, AgentMessage(**fields, answer=reply, calls=self._calls))
        loop = asyncio.get_running_loop()

        def blocking_reply(
            payload: Any, metadata: Mapping[str, Any] | None, options: Mapping[str, Any]
        ) -> Message | None:
            stored: Message | None = asyncio.run_coroutine_threadsafe(reply(payload, metadata, options), loop).result()
            return stored

        blocking_calls = ConversationCalls(_FromThread(self._answers.connection, loop), self._conversation)
        return await self._invoke(handler, BlockingAgentMessage(**fields, answer=blocking_reply, calls=blocking_calls))

    async def _invoke(self, handler: Handler, taken: Any) -> Any:
        """Calls a handler with a message or a digest: an async one here, a plain one in a thread."""
        arguments = handler.arguments(taken)
        if handler.is_async:
            return await handler.function(*arguments)
        context = contextvars.copy_context()

        def call() -> Any:
            try:
                return context.run(handler.function, *arguments)
            except StopIteration as error:  # no future can hold it, so the wait would never end
                raise RuntimeError("the handler raised StopIteration") from error

        return await asyncio.get_running_loop().run_in_executor(self._threads, call)
