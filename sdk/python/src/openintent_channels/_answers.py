"""What an agent answers, and how it is stored once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _methods as methods
from ._agent_log import AgentLog, logger
from ._async_running import AsyncConnection
from ._calls import Calls
from ._generated import messages_pb2
from ._handlers import Answer, failure_of
from ._messages import Messages
from ._received import Received
from ._tracing import Tracing
from .errors import FailedPreconditionError, OpenIntentError, UnauthenticatedError
from .models import ERROR_MARK, Message, message_of

_UNFIT = ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")


@dataclass(slots=True)
class Answers:
    """Stores the answers of an agent. Each has its own key, so an answer that is repeated after a crash is stored once."""

    connection: AsyncConnection
    calls: Calls
    tracing: Tracing
    log: AgentLog
    messages: Messages = field(init=False)

    def __post_init__(self) -> None:
        self.messages = Messages(self.calls, self.tracing)

    async def send(
        self,
        received: Received,
        answer: Answer,
        key: str,
        metadata: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Message:
        """Stores one answer, however long the server is away, and returns it."""
        return message_of(await self._store(received, answer, key, metadata, options))

    async def _store(
        self,
        received: Received,
        answer: Answer,
        key: str,
        metadata: Mapping[str, Any] | None,
        options: Mapping[str, Any] | None,
    ) -> messages_pb2.Message:
        wire = received.wire
        facts = {**(metadata or {}), ERROR_MARK: True} if answer.failed else metadata
        with self.tracing.asking("openintent.reply") as trace:
            request = self.messages.reply_request(wire.channel_id, wire.id, answer.payload, facts, None, key, trace, options)
            return await self.connection.run(self.calls.call_for_ever(methods.REPLY_MESSAGE, request))

    async def follow_up(
        self,
        received: Received,
        payload: dict[str, Any],
        key: str,
        metadata: Mapping[str, Any] | None,
        options: Mapping[str, Any],
    ) -> Message:
        """Tells the sender of a message that is no request something under it."""
        wire = received.wire
        said = {"parent": wire.id, **options}
        sending = self.messages.send(
            wire.channel_id, payload, wire.sender, "notify", None, metadata, None, key, said
        )
        return await self.connection.run(sending)

    async def settle(self, received: Received, answer: Answer, key: str, fence: int | None = None) -> None:
        """Stores the answer of a handler. When the server does not take it, for example because it is too large, the handler
        has failed, and the asker is told so instead. A key that has another answer already means that the message was
        answered."""
        try:
            await self._store(received, answer, key, None, None if fence is None else {"fence": fence})
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            if error.reason == "IDEMPOTENCY_KEY_REUSED":
                return
            if error.code in _UNFIT and not answer.failed:
                self.log.handler_failed(received.channel_name, received.wire.id, error)
                await self.settle(received, failure_of(error), key, fence)
            elif is_late(error):
                self.log.too_late(received.channel_name, received.wire.id, error)
            else:
                self.log.answer_refused(received.channel_name, received.wire.id, error)

    async def forgo(self, received: Received) -> None:
        """Marks a request as read that the handlers did not answer, so that the agent does not find it in the inbox and
        handle it again."""
        wire = received.wire
        marking = self.messages.mark_read(wire.channel_id, wire.id, None)
        try:
            await self.connection.run(marking)
        except UnauthenticatedError:
            raise
        except OpenIntentError as error:
            logger.debug("message %s was not marked read: %s", wire.id, error)


def is_late(error: OpenIntentError) -> bool:
    """Whether an answer was refused because nobody waits for it any longer."""
    return isinstance(error, FailedPreconditionError)
