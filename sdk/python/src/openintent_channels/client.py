"""The blocking client. `async_client` has the same for asyncio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any

from ._blocking import BlockingConnection, Iteration
from ._channels import Options
from ._connections import settings_from
from ._rules import Rules
from .handles import ChannelHandle
from .models import Channel, Intent, Message


class OpenIntentClient:
    """A client of an OpenIntent server, for any number of threads.

    `server` is `host:port`, `https://host:port` for TLS; without it OPENINTENT_SERVER, or 127.0.0.1:50051. `api_key` and
    `agent_id` (whom the client acts as) default to OPENINTENT_API_KEY and OPENINTENT_AGENT_ID. `retry_patience` is how many
    seconds a call without a deadline of its own is tried for while the server is away; 30 when absent. Nothing is connected
    before the first call. Every method raises the errors of `openintent_channels.errors`.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        api_key: str | None = None,
        agent_id: str | None = None,
        tls: bool | None = None,
        retry_patience: float | None = None,
        tracer_provider: Any = None,
    ) -> None:
        settings = settings_from(server, api_key, agent_id, tls)
        self.agent_id = settings.agent_id
        self._rules = Rules(settings, retry_patience, tracer_provider)
        self._connection = BlockingConnection(settings)
        self.channels = Channels(self)
        self.intents = Intents(self)

    def create_channel(
        self,
        intent_id: str,
        name: str,
        members: Sequence[str] = (),
        member_policy: str = "intent",
        options: Options | None = None,
        task_id: str | None = None,
    ) -> Channel:
        """Creates a channel. ChannelNameTakenError when an open channel of the intent has the name."""
        steps = self._rules.channels.create(intent_id, name, members, member_policy, options, task_id)
        return self._connection.run(steps)

    def list_channels(self, intent_id: str) -> list[Channel]:
        """Lists an intent's channels, open ones first."""
        return self._connection.run(self._rules.channels.list(intent_id))

    def get_channel(self, channel_id: str) -> Channel:
        """Reads a channel."""
        return self._connection.run(self._rules.channels.get(channel_id))

    def close_channel(self, channel_id: str) -> Channel:
        """Closes a channel. Closing a closed one is no error."""
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
    ) -> Message:
        """Sends a message: to an agent, to `role:ROLE`, or to everybody. When the call returns, it is stored, once."""
        steps = self._rules.messages.send(
            channel_id, payload, to, message_type, expires_at, metadata, sender, idempotency_key
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
    ) -> Message:
        """Answers a request. MessageExpiredError when its time is over."""
        steps = self._rules.messages.reply(channel_id, message_id, payload, metadata, sender, idempotency_key)
        return self._connection.run(steps)

    def list_messages(
        self,
        channel_id: str,
        since: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        message_type: str | None = None,
        correlation_id: str | None = None,
    ) -> list[Message]:
        """Reads one page of messages, oldest first: those after the message `since`, or without it the newest ones; at most
        1,000."""
        steps = self._rules.messages.list(channel_id, since, to, limit, message_type, correlation_id)
        return self._connection.run(steps)

    def get_message(self, channel_id: str, message_id: str) -> Message:
        """Reads a message."""
        return self._connection.run(self._rules.messages.get(channel_id, message_id))

    def mark_read(self, channel_id: str, message_id: str, *, agent_id: str | None = None) -> Message:
        """Marks a message read. Repetitions are harmless."""
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
    ) -> Message:
        """Asks an agent or a role and gives the first response. `timeout` is in seconds, above 0 and at most 600.

        RemoteError when the responder's handler failed, MessageTimeoutError when no response came in time,
        ChannelClosedError and PermissionDeniedError when the channel or the access went away meanwhile. All carry the
        request's `message_id`, with which `resume_ask` goes on.
        """
        steps = self._rules.asking.ask(channel_id, to, payload, timeout, sender, metadata, idempotency_key)
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
    ) -> list[Message]:
        """Asks and gathers the responses of the whole time, or until `min_responses` came. Too few are no error."""
        steps = self._rules.asking.ask_all(
            channel_id, to, payload, timeout, min_responses, sender, metadata, idempotency_key
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
    ) -> Iteration[Message]:
        """Asks and gives responses as they arrive, until the time is over or `min_responses` came. The question is sent at
        the first `next`; leaving the iteration early leaves it open."""
        steps = self._rules.asking.ask_all_iter(
            channel_id, to, payload, timeout, min_responses, sender, metadata, idempotency_key
        )
        return Iteration(self._connection, steps)

    def resume_ask(self, channel_id: str, message_id: str, timeout: float = 30) -> Message:
        """Picks up a question that was asked before, as after a crash, and gives its first response."""
        return self._connection.run(self._rules.asking.resume(channel_id, message_id, timeout))

    def follow(self, channel_id: str, after: int | None = None, include_own: bool = True) -> Iteration[Message]:
        """Follows a channel, as a handle's `messages` does."""
        return Iteration(self._connection, self._rules.following.follow(channel_id, after, include_own))

    def close(self) -> None:
        """Ends the connection, with all that waits on it."""
        self._connection.close()

    def __enter__(self) -> OpenIntentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Channels:
    """Channels by name, as handles."""

    def __init__(self, client: OpenIntentClient) -> None:
        self._client = client

    def open(
        self,
        name: str,
        intent_id: str,
        members: Sequence[str] = (),
        member_policy: str = "intent",
        options: Options | None = None,
    ) -> ChannelHandle:
        """Gets the intent's open channel of this name, or creates it with the members, policy and options. Of several that
        do so at once all get the same."""
        client = self._client
        steps = client._rules.channels.open(name, intent_id, members, member_policy, options)
        return ChannelHandle(client, client._connection.run(steps))


class Intents:
    """The little of intents that conversations need."""

    def __init__(self, client: OpenIntentClient) -> None:
        self._client = client

    def create(
        self,
        title: str,
        description: str | None = None,
        *,
        status: str | None = None,
        state: Mapping[str, Any] | None = None,
        constraints: Mapping[str, Any] | None = None,
        parent_intent_id: str | None = None,
        depends_on: Sequence[str] = (),
        default_policy: str | None = None,
    ) -> Intent:
        """Creates an intent, a draft unless `status` says otherwise. `default_policy`, `open` or `closed`, begins an access
        control list with it; without one the server's setting says what everyone may do. UnavailableError may leave open
        whether the intent exists."""
        client = self._client
        steps = client._rules.intents.create(
            title, description, status, state, constraints, parent_intent_id, depends_on, default_policy
        )
        return client._connection.run(steps)

    def get(self, intent_id: str) -> Intent:
        """Reads an intent."""
        return self._client._connection.run(self._client._rules.intents.get(intent_id))

    def set_status(self, intent_id: str, status: str, reason: str | None = None) -> Intent:
        """Moves an intent along its lifecycle."""
        return self._client._connection.run(self._client._rules.intents.set_status(intent_id, status, reason))
