# Generated from _async_channel_calls.py by generate_blocking.py; edit that.
"""The calls on a channel whose id is known, for blocking programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from ._conversation_calls import ConversationCalls
from ._rules import Rules
from ._running import Connection, Iteration
from .conversations import Annotation
from .models import Channel, Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import ReplyOptions, RequestOptions, SendOptions


class ChannelCalls(ConversationCalls):
    """What a client can do on a channel whose id it knows. The client inherits it, and its handles call it."""

    def __init__(self, connection: Connection, rules: Rules) -> None:
        super().__init__(connection, rules.conversation)
        self._connection = connection
        self._rules = rules

    def get_channel(self, channel_id: str) -> Channel:
        """Reads a channel."""
        return self._connection.run(self._rules.channels.get(channel_id))

    def close_channel(self, channel_id: str) -> Channel:
        """Closes a channel. Closing a closed one is not an error."""
        return self._connection.run(self._rules.channels.close(channel_id))

    def send_message(
        self,
        channel_id: str,
        payload: Any,
        to: str | None = None,
        message_type: str = "notify",
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        sender: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends a message: to an agent, to `role:ROLE`, or to everybody. When the call returns, it is stored, once."""
        steps = self._rules.messages.send(
            channel_id, payload, to, message_type, expires_at, metadata, sender, idempotency_key, options
        )
        return self._connection.run(steps)

    def reply_to(
        self,
        channel_id: str,
        message_id: str,
        payload: Any,
        metadata: Mapping[str, Any] | None = None,
        *,
        sender: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[ReplyOptions],
    ) -> Message:
        """Answers a request. Raises MessageExpiredError when its time is over."""
        steps = self._rules.messages.reply(channel_id, message_id, payload, metadata, sender, idempotency_key, options)
        return self._connection.run(steps)

    def list_messages(
        self,
        channel_id: str,
        since: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        message_type: str | None = None,
        correlation_id: str | None = None,
        thread_id: str | None = None,
    ) -> list[Message]:
        """Reads one page of messages, oldest first: those after the message `since`, or without it the newest ones; at most
        1,000."""
        steps = self._rules.messages.list(channel_id, since, to, limit, message_type, correlation_id, thread_id)
        return self._connection.run(steps)

    def get_message(self, channel_id: str, message_id: str) -> Message:
        """Reads a message."""
        return self._connection.run(self._rules.messages.get(channel_id, message_id))

    def mark_read(self, channel_id: str, message_id: str, *, agent_id: str | None = None) -> Message:
        """Marks a message as read. Repetitions are harmless."""
        return self._connection.run(self._rules.messages.mark_read(channel_id, message_id, agent_id))

    def ask(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float = 30,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Message:
        """Asks an agent or a role and returns the first response. `timeout` is in seconds, above 0 and at most 600.

        Raises RemoteError when the responder's handler failed, MessageTimeoutError when no response came in time,
        ChannelClosedError when the channel closed meanwhile, and PermissionDeniedError when the access was lost. All of
        them carry the request's `message_id`, with which `resume_ask` goes on. When the server is away until the time is
        over, that is an UnavailableError, with the id if the server told it before.
        """
        steps = self._rules.asking.ask(channel_id, to, payload, timeout, sender, metadata, idempotency_key, options)
        return self._connection.run(steps)

    def ask_all(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> list[Message]:
        """Asks and gathers responses for the whole time, or until `min_responses` came, or as many as `collect` asks for
        exactly. Too few are not an error."""
        steps = self._rules.asking.ask_all(
            channel_id, to, payload, timeout, min_responses, sender, metadata, idempotency_key, options
        )
        return self._connection.run(steps)

    def ask_all_iter(
        self,
        channel_id: str,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Iteration[Message]:
        """Asks and yields responses as they arrive, until the time is over or `min_responses` came. The question is sent at
        the first `next`; leaving the iteration early leaves it open."""
        steps = self._rules.asking.ask_all_iter(
            channel_id, to, payload, timeout, min_responses, sender, metadata, idempotency_key, options
        )
        return Iteration(self._connection, steps)

    def resume_ask(self, channel_id: str, message_id: str, timeout: float = 30) -> Message:
        """Picks up a question that was asked before, for example after a crash, and returns its first response."""
        return self._connection.run(self._rules.asking.resume(channel_id, message_id, timeout))

    @overload
    def follow(self, channel_id: str, after: int | None = None, include_own: bool = True) -> Iteration[Message]: ...

    @overload
    def follow(
        self, channel_id: str, after: int | None = None, include_own: bool = True, *, include: Sequence[str]
    ) -> Iteration[Message | Annotation]: ...

    def follow(
        self, channel_id: str, after: int | None = None, include_own: bool = True, *, include: Sequence[str] = ()
    ) -> Iteration[Message] | Iteration[Message | Annotation]:
        """Follows a channel, as a handle's `messages` does."""
        return Iteration(self._connection, self._rules.following.follow(channel_id, after, include_own, include))
