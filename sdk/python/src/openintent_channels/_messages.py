"""Sending, answering and reading messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from . import _methods as methods
from ._calls import Calls
from ._effects import Steps
from ._generated import messages_pb2
from ._message_options import say
from ._structs import fill, to_struct
from ._tracing import Trace, Tracing
from .models import Message, message_of, number
from .payloads import encode


@dataclass(slots=True)
class Messages:
    """The rules of messages."""

    calls: Calls
    tracing: Tracing

    def send(
        self,
        channel_id: str,
        payload: Any,
        to: str | None,
        message_type: str,
        expires_at: datetime | None,
        metadata: Mapping[str, Any] | None,
        sender: str | None,
        idempotency_key: str | None,
        options: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
    ) -> Steps[Message]:
        """Sends one message; however often it is tried, it is stored once."""
        with self.tracing.asking("openintent.send") as trace:
            request = messages_pb2.SendMessageRequest(
                channel_id=channel_id,
                sender=sender,
                to=to,
                message_type=number(messages_pb2.MessageType, "MESSAGE_TYPE_", message_type, "message_type"),
                correlation_id=correlation_id,
                metadata=metadata_of(metadata, trace),
                expires_at=stamp(expires_at),
                idempotency_key=idempotency_key or self.calls.key(),
            )
            fill(request.payload, encode(payload))
            if options:
                say(request, options)
            answer = yield from self.calls.call(methods.SEND_MESSAGE, request, trace.headers)
            return message_of(answer)

    def reply(
        self,
        channel_id: str,
        message_id: str,
        payload: Any,
        metadata: Mapping[str, Any] | None,
        sender: str | None,
        idempotency_key: str | None,
        options: Mapping[str, Any] | None = None,
    ) -> Steps[Message]:
        """Answers a request; however often it is tried, the answer is stored once."""
        with self.tracing.asking("openintent.reply") as trace:
            request = self.reply_request(
                channel_id, message_id, payload, metadata, sender, idempotency_key or self.calls.key(), trace, options
            )
            answer = yield from self.calls.call(methods.REPLY_MESSAGE, request, trace.headers)
            return message_of(answer)

    def reply_request(
        self,
        channel_id: str,
        message_id: str,
        payload: Any,
        metadata: Mapping[str, Any] | None,
        sender: str | None,
        key: str,
        trace: Trace,
        options: Mapping[str, Any] | None = None,
    ) -> messages_pb2.ReplyMessageRequest:
        """Writes the request that sends an answer."""
        request = messages_pb2.ReplyMessageRequest(
            channel_id=channel_id,
            message_id=message_id,
            sender=sender,
            metadata=metadata_of(metadata, trace),
            idempotency_key=key,
        )
        fill(request.payload, encode(payload))
        if options:
            say(request, options)
        return request

    def list(
        self,
        channel_id: str,
        since: str | None,
        to: str | None,
        limit: int | None,
        message_type: str | None,
        correlation_id: str | None,
        thread_id: str | None = None,
    ) -> Steps[list[Message]]:
        """Reads one page, oldest first: after `since`, or else the newest. After `since` it goes on while pages are empty
        because the server looked at many messages and none was wanted."""
        request = messages_pb2.ListMessagesRequest(
            channel_id=channel_id, since=since, to=to, limit=limit, correlation_id=correlation_id, thread_id=thread_id
        )
        if message_type is not None:
            request.message_type = number(messages_pb2.MessageType, "MESSAGE_TYPE_", message_type, "message_type")
        page = yield from self.calls.call(methods.LIST_MESSAGES, request)
        while page.bounded and not page.messages and since is not None:
            request.since = page.next_since
            page = yield from self.calls.call(methods.LIST_MESSAGES, request)
        return [message_of(wire) for wire in page.messages]

    def get(self, channel_id: str, message_id: str) -> Steps[Message]:
        """Reads one message."""
        request = messages_pb2.GetMessageRequest(channel_id=channel_id, message_id=message_id)
        return message_of((yield from self.calls.call(methods.GET_MESSAGE, request)))

    def mark_read(self, channel_id: str, message_id: str, agent_id: str | None) -> Steps[Message]:
        """Marks a message read; repetitions are harmless."""
        request = messages_pb2.UpdateMessageRequest(
            channel_id=channel_id,
            message_id=message_id,
            status=messages_pb2.MESSAGE_STATUS_READ,
            agent_id=agent_id,
        )
        return message_of((yield from self.calls.call(methods.UPDATE_MESSAGE, request)))


def metadata_of(metadata: Mapping[str, Any] | None, trace: Trace) -> Struct | None:
    """Writes a message's metadata with its trace. What the caller says takes precedence."""
    if not metadata and not trace.metadata:
        return None
    return to_struct({**trace.metadata, **(metadata or {})}, "metadata")


def stamp(at: datetime | None) -> Timestamp | None:
    """Writes a time; one without a zone is taken as local time, as datetime itself takes it."""
    if at is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(at.astimezone(timezone.utc))
    return stamp
