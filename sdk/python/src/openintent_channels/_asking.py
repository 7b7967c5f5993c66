"""Asking: a question, its answers, and picking a question up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from . import _methods as methods
from ._bounds import check
from ._calls import Calls
from ._effects import Began, Emit, Invoke, Pause, Steps
from ._generated import channels_pb2, messages_pb2
from ._message_options import exactly, say
from ._messages import metadata_of
from ._methods import Answer, Method
from ._retrying import Deadline, is_passing
from ._structs import fill
from ._tracing import Trace, Tracing
from .errors import (
    ChannelClosedError,
    DeclinedError,
    FailedPreconditionError,
    MessageDeletedError,
    MessageTimeoutError,
    OpenIntentError,
    PayloadError,
    RemoteError,
    RemotePayloadError,
)
from .models import Message, message_of
from .payloads import encode

Request = TypeVar("Request", messages_pb2.AskRequest, messages_pb2.AskAllRequest)

GRACE = 5.0
"""How many seconds an attempt may take beyond the wait itself. So it is the server that says that the time ran out, and its
answer names the request."""

LONGEST = 600.0
"""The longest wait, in seconds, that the server accepts in one call."""

_ENDINGS: Mapping[str, tuple[type[FailedPreconditionError], str]] = {
    "DECLINED": (DeclinedError, "DECLINED"),
    "WITHDRAWN": (MessageDeletedError, "MESSAGE_DELETED"),
}
"""The error, and its reason, for a cause with which a wait ended before its time. A channel that closed is asked for."""


class _Question(TypedDict):
    """The fields of every question."""

    channel_id: str
    sender: str | None
    to: str
    metadata: Any
    timeout_seconds: float
    idempotency_key: str


@dataclass(slots=True)
class Asking:
    """The rules of questions. A question's key and deadline are made once; every attempt carries the same ones."""

    calls: Calls
    tracing: Tracing

    def ask(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float,
        sender: str | None,
        metadata: Mapping[str, Any] | None,
        idempotency_key: str | None,
        options: Mapping[str, Any] | None = None,
    ) -> Steps[Message]:
        """Asks and returns the first response. Raises RemoteError when it says that the responder failed."""
        with self.tracing.asking("openintent.ask") as trace:
            deadline = self.calls.deadline(timeout)
            question = self._question(channel_id, to, timeout, sender, metadata, idempotency_key, trace)
            request = _written(messages_pb2.AskRequest(**question), payload, options)
            answer = yield from self._persist(methods.ASK, request, deadline, trace.headers)
            return _raised(message_of(answer))

    def ask_all(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float,
        min_responses: int | None,
        sender: str | None,
        metadata: Mapping[str, Any] | None,
        idempotency_key: str | None,
        options: Mapping[str, Any] | None = None,
    ) -> Steps[list[Message]]:
        """Asks and gathers responses: for the whole time, or until there are enough."""
        with self.tracing.asking("openintent.ask") as trace:
            deadline = self.calls.deadline(timeout)
            question = self._question(channel_id, to, timeout, sender, metadata, idempotency_key, trace)
            request = _written(messages_pb2.AskAllRequest(**question, min_responses=min_responses), payload, options)
            answer = yield from self._persist(methods.ASK_ALL, request, deadline, trace.headers)
            return [message_of(wire) for wire in answer.responses]

    def ask_all_iter(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float,
        min_responses: int | None,
        sender: str | None,
        metadata: Mapping[str, Any] | None,
        idempotency_key: str | None,
        options: Mapping[str, Any] | None = None,
    ) -> Steps[None]:
        """Asks and emits responses as they come, until the time is over, the channel closes, or there are enough: as many
        as `min_responses`, or as the question takes exactly. The first call stores the question; each later one waits for
        one more response than there are."""
        deadline = self.calls.deadline(timeout)
        enough = min_responses or exactly((options or {}).get("collect"))
        with self.tracing.asking("openintent.ask") as trace:
            question = self._question(channel_id, to, timeout, sender, metadata, idempotency_key, trace)
            request = _written(messages_pb2.AskAllRequest(**question, min_responses=1), payload, options)
        yield Began()
        responses = (yield from self._persist(methods.ASK_ALL, request, deadline, trace.headers)).responses
        given = 0
        while len(responses) > given:
            for wire in responses[given:]:
                yield Emit(message_of(wire))
                given += 1
                if given == enough:
                    return
            asked = responses[0].correlation_id
            responses = (yield from self._await(channel_id, asked, given + 1, deadline)).responses

    def resume(self, channel_id: str, message_id: str, timeout: float) -> Steps[Message]:
        """Returns the first response to a question that was asked before. Raises MessageTimeoutError when none comes in
        time, ChannelClosedError when the channel has closed, DeclinedError when the agent has said no, and
        MessageDeletedError when the question was withdrawn."""
        deadline = self.calls.deadline(timeout)
        answer = yield from self._await(channel_id, message_id, 1, deadline, explain=True)
        if answer.responses:
            return _raised(message_of(answer.responses[0]))
        request, facts = channels_pb2.GetChannelRequest(channel_id=channel_id), {"message_id": message_id}
        if answer.cause in _ENDINGS:
            kind, reason = _ENDINGS[answer.cause]
            if answer.note:
                facts["note"] = answer.note
            raise kind(answer.explanation, code="FAILED_PRECONDITION", reason=reason, metadata=facts)
        try:
            channel = yield from self.calls.call(methods.GET_CHANNEL, request, deadline=self.calls.deadline(GRACE))
        except OpenIntentError as error:
            error.metadata.update(facts)
            raise
        if channel.status == channels_pb2.CHANNEL_STATUS_CLOSED:
            raise ChannelClosedError(
                "The channel closed before a response came.", code="FAILED_PRECONDITION", reason="CHANNEL_CLOSED",
                metadata=facts,
            )
        raise MessageTimeoutError(
            "No response came before the time ran out.", code="DEADLINE_EXCEEDED", reason="MESSAGE_TIMEOUT", metadata=facts
        )

    def _question(
        self,
        channel_id: str,
        to: str,
        timeout: float,
        sender: str | None,
        metadata: Mapping[str, Any] | None,
        idempotency_key: str | None,
        trace: Trace,
    ) -> _Question:
        return _Question(
            channel_id=channel_id,
            sender=sender,
            to=to,
            metadata=metadata_of(metadata, trace),
            timeout_seconds=timeout,
            idempotency_key=idempotency_key or self.calls.key(),
        )

    def _await(
        self, channel_id: str, message_id: str, wanted: int, deadline: Deadline, *, explain: bool = False
    ) -> Steps[messages_pb2.AwaitResponsesResponse]:
        """Waits until there are as many responses as `wanted`, the question has ended, or the time is over. With `explain`
        it also ends when the agent that was asked says no."""
        waits = self.calls.waits()
        while True:
            begun, remaining = self.calls.clock(), min(deadline.remaining or 0.0, LONGEST)
            request = messages_pb2.AwaitResponsesRequest(
                channel_id=channel_id, message_id=message_id, wait_seconds=remaining, min_responses=wanted,
                explain=explain,
            )
            try:
                attempt = Invoke(methods.AWAIT_RESPONSES, request, remaining + GRACE)
                answer: messages_pb2.AwaitResponsesResponse = yield from self.calls.attempt(attempt)
                waited = self.calls.clock() - begun
                if len(answer.responses) >= wanted or waited < LONGEST or not deadline.remaining:
                    return answer
            except OpenIntentError as error:
                yield from self._pause(error, waits.after(error), deadline, message_id)

    def _persist(
        self, method: Method[Any, Answer], request: Any, deadline: Deadline, headers: tuple[tuple[str, str], ...]
    ) -> Steps[Answer]:
        """Asks again, under the same key, whenever the connection or the server is lost, until the deadline."""
        check(request)
        waits, message_id = None, None
        while True:
            try:
                # No attempt needs to be longer than the server waits. It is the server that refuses a longer question.
                remaining = min(deadline.remaining or 0.0, LONGEST)
                attempt = Invoke(method, request, remaining + GRACE, headers)
                answer: Answer = yield from self.calls.attempt(attempt)
                return answer
            except OpenIntentError as error:
                message_id, waits = error.message_id or message_id, waits or self.calls.waits()
                yield from self._pause(error, waits.after(error), deadline, message_id)

    def _pause(
        self, error: OpenIntentError, wait: float, deadline: Deadline, message_id: str | None
    ) -> Steps[None]:
        """Waits before the next attempt. When there is none, it raises the error, with the question's id if that is known.
        Only the server says that a wait ran out. When it does not, it was not available."""
        facts = {"message_id": message_id} if message_id else {}
        if not is_passing(error):
            error.metadata.update(facts)
            raise error
        self.calls.again(error, wait, deadline, facts)
        yield Pause(wait)


def _written(request: Request, payload: Any, options: Mapping[str, Any] | None) -> Request:
    """Writes a question's payload and options into its request."""
    fill(request.payload, encode(payload))
    if options:
        say(request, options)
    return request


def _raised(response: Message) -> Message:
    """Returns a response, or raises the failure that it reports."""
    if not response.is_error:
        return response
    told = response.payload.get("error")
    told = told if isinstance(told, dict) else {}
    text, kind = str(told.get("message", "")), str(told.get("type", ""))
    if kind == PayloadError.__name__:
        raise RemotePayloadError(text, response=response)
    raise RemoteError(text, type=kind, response=response)


