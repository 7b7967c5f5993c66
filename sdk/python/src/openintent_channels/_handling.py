"""Handling one message: its handlers are called one after the other, and the first to return something answers."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from . import _methods as methods
from ._agent_log import AgentLog, logger
from ._awaiting import AwaitingConnection, is_cancelled
from ._calls import Calls
from ._handlers import Answer, Handler, answer_of, failure_of, matching
from ._messages import Messages
from ._received import AgentMessage, BlockingAgentMessage, Received
from ._tracing import Tracing
from .errors import AlreadyExistsError, FailedPreconditionError, OpenIntentError, UnauthenticatedError
from .models import ERROR_MARK, Message, message_fields, message_of
from .payloads import encode

_UNFIT = ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")


@dataclass(slots=True)
class Answers:
    """Stores the answers of an agent. Each has its own key, so an answer that is repeated after a crash is stored once."""

    connection: AwaitingConnection
    calls: Calls
    tracing: Tracing
    log: AgentLog

    async def send(
        self, received: Received, answer: Answer, key: str, metadata: Mapping[str, Any] | None = None
    ) -> Message:
        """Stores one answer, however long the server is away."""
        wire = received.wire
        facts = {**(metadata or {}), ERROR_MARK: True} if answer.failed else metadata
        with self.tracing.asking("openintent.reply") as trace:
            request = Messages(self.calls, self.tracing).reply_request(
                wire.channel_id, wire.id, answer.payload, facts, None, key, trace
            )
            stored = await self.connection.run(self.calls.call_for_ever(methods.REPLY_MESSAGE, request))
            return message_of(stored)

    async def settle(self, received: Received, answer: Answer, key: str) -> None:
        """Stores the answer of a handler. When the server does not take it, for example because it is too large, the handler
        has failed, and the asker is told so instead. A key that has another answer already means that the message was
        answered."""
        try:
            await self.send(received, answer, key)
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            if error.reason == "IDEMPOTENCY_KEY_REUSED":
                return
            if error.code in _UNFIT and not answer.failed:
                self.log.handler_failed(received.channel_name, received.wire.id, error)
                await self.settle(received, failure_of(error), key)
            elif is_late(error):
                self.log.too_late(received.channel_name, received.wire.id, error)
            else:
                self.log.answer_refused(received.channel_name, received.wire.id, error)

    async def forgo(self, received: Received) -> None:
        """Marks a request as read that the handlers did not answer, so that the agent does not find it in the inbox and
        handle it again."""
        wire = received.wire
        marking = Messages(self.calls, self.tracing).mark_read(wire.channel_id, wire.id, None)
        try:
            await self.connection.run(marking)
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            logger.debug("message %s was not marked read: %s", wire.id, error)


def is_late(error: OpenIntentError) -> bool:
    """Whether an answer was refused because nobody waits for it any longer."""
    return isinstance(error, FailedPreconditionError)


class Handling:
    """Calls an agent's handlers: async ones in the event loop, plain ones in threads."""

    def __init__(self, handlers: Sequence[Handler], answers: Answers, tracing: Tracing, concurrency: int) -> None:
        self._handlers = tuple(handlers)
        self._answers = answers
        self._log = answers.log
        self._tracing = tracing
        self._threads = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="openintent-handler")

    def handles(self, channel_name: str) -> bool:
        """Whether any handler takes the messages on channels of that name."""
        return bool(matching(self._handlers, channel_name))

    @property
    def channels(self) -> list[str]:
        """The names of the channels that have handlers."""
        return sorted({handler.channel for handler in self._handlers if handler.channel is not None})

    def close(self) -> None:
        """Lets go of the threads. A handler that still runs in one ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def handle(self, received: Received) -> None:
        """Calls the handlers of a message and stores its answer. It raises only what keeps the answer from being stored."""
        wire = received.wire
        fields = {
            **message_fields(wire),
            "position": received.position,
            "intent_id": received.intent_id,
            "channel_name": received.channel_name,
            "attempt": received.attempt,
        }
        attributes = {"openintent.message_id": wire.id, "openintent.channel": received.channel_name}
        key = f"sdk-reply-{wire.id}"
        further, late = itertools.count(1), list[BaseException]()

        async def reply(payload: Any, metadata: Mapping[str, Any] | None = None) -> Message | None:
            try:
                return await self._answers.send(received, Answer(encode(payload)), f"{key}-{next(further)}", metadata)
            except AlreadyExistsError:  # before a crash, another answer was stored in its place
                return None
            except OpenIntentError as error:
                if is_late(error):
                    late.append(error)
                raise

        with self._tracing.handling(fields["metadata"], attributes) as span:
            answered = fields["message_type"] != "request"
            for handler in matching(self._handlers, received.channel_name):
                answer = await self._outcome(handler, fields, reply, late, span)
                if answer is not None and not answered:
                    answered = True
                    await self._answers.settle(received, answer, key)
            if not answered:
                await self._answers.forgo(received)

    async def _outcome(
        self, handler: Handler, fields: dict[str, Any], reply: Any, late: Sequence[BaseException], span: Any
    ) -> Answer | None:
        """Calls a handler and returns what its result or its failure answers. A failure is logged and noted in the span. A
        reply of its own that came too late is none: nobody is there to be told."""
        try:
            return answer_of(await self._call(handler, fields, reply))
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # whatever it is, the asker must hear of it
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if isinstance(error, OpenIntentError) and any(error is told for told in late):
                self._log.too_late(fields["channel_name"], fields["id"], error)
                return None
            self._log.handler_failed(fields["channel_name"], fields["id"], error)
            if span is not None:
                span.record_exception(error)
            return failure_of(error)

    async def _call(self, handler: Handler, fields: dict[str, Any], reply: Any) -> Any:
        if handler.is_async:
            return await handler.function(*handler.arguments(AgentMessage(**fields, answer=reply)))
        loop = asyncio.get_running_loop()

        def blocking_reply(payload: Any, metadata: Mapping[str, Any] | None = None) -> Message | None:
            stored: Message | None = asyncio.run_coroutine_threadsafe(reply(payload, metadata), loop).result()
            return stored

        arguments = handler.arguments(BlockingAgentMessage(**fields, answer=blocking_reply))
        context = contextvars.copy_context()

        def call() -> Any:
            try:
                return context.run(handler.function, *arguments)
            except StopIteration as error:  # no future can hold it, so the wait would never end
                raise RuntimeError("the handler raised StopIteration") from error

        return await loop.run_in_executor(self._threads, call)
