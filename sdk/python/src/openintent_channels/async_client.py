"""The client for asyncio."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ._async_channel_calls import AsyncChannelCalls
from ._async_finding import AsyncAgents, AsyncRoles
from ._async_holding import AsyncLease
from ._async_running import AsyncConnection
from ._channels import Options
from ._connections import settings_from
from ._rules import Rules
from ._settings import acting_as
from .async_handles import AsyncChannelHandle
from .async_mailbox import AsyncMailbox
from .concerns import ConcernPage
from .directory import IntentPage
from .models import Channel, Intent
from .reach import Reach


class AsyncOpenIntentClient(AsyncChannelCalls):
    """A client of an OpenIntent server, for the event loop in which it is first used.

    `server` is `host:port`, `https://host:port` for TLS; without it OPENINTENT_SERVER, or 127.0.0.1:50051. `api_key`,
    `agent_id` (the agent that the client acts as) and `intent_id` (the intent of calls that name none) default to
    OPENINTENT_API_KEY, OPENINTENT_AGENT_ID and OPENINTENT_INTENT_ID. Without a key, a
    server on this machine gets the development key. `ca_file` (OPENINTENT_CA_FILE) names the certificates to trust for TLS,
    in PEM form, in place of the system's. `retry_patience` is how many seconds a call without a deadline of its own is tried
    for while the server is away, until it raises UnavailableError; 30 when absent. `connect_timeout` bounds how many of
    these seconds pass without a connection: 5 when absent, if the server is on this machine and has never answered this
    client, and else all of them. The client connects at the first call. Every method raises the errors of
    `openintent_channels.errors`.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        api_key: str | None = None,
        agent_id: str | None = None,
        intent_id: str | None = None,
        tls: bool | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        retry_patience: float | None = None,
        connect_timeout: float | None = None,
        tracer_provider: Any = None,
    ) -> None:
        settings = settings_from(server, api_key, agent_id, tls, ca_file, intent_id)
        super().__init__(AsyncConnection(settings), Rules(settings, retry_patience, tracer_provider, connect_timeout))
        self._settings = settings
        self.agent_id = settings.agent_id
        self.intent_id = settings.intent_id
        self.channels = AsyncChannels(self)
        self.intents = AsyncIntents(self)
        self.agents = AsyncAgents(self._connection, self._rules.directory)
        self.roles = AsyncRoles(self._connection, self._rules.directory)

    async def create_channel(
        self,
        intent_id: str,
        name: str,
        members: Sequence[str] = (),
        member_policy: str = "intent",
        options: Options | None = None,
        task_id: str | None = None,
        *,
        dictatable: bool = False,
    ) -> Channel:
        """Creates a channel. Raises ChannelNameTakenError when an open channel of the intent has the name.
        A `dictatable` one gets an `address` that people can dictate."""
        steps = self._rules.channels.create(intent_id, name, members, member_policy, options, task_id, dictatable)
        return await self._connection.run(steps)

    async def list_channels(self, intent_id: str | None = None) -> list[Channel]:
        """Lists an intent's channels, open ones first: of the client's own intent, if none is given."""
        return await self._connection.run(self._rules.channels.list(intent_id))

    async def reach(self, agent_id: str) -> Reach:
        """Says whether anybody would hear what is sent to an agent now. Raises NotFoundError if this client may not know."""
        return await self._connection.run(self._rules.directory.reach(agent_id))

    async def concerns(
        self,
        kind: str | None = None,
        *,
        intent_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> ConcernPage:
        """Lists what needs the caller, the oldest first: its own concerns, those of intents to which it has admin access,
        and for the operator all. `agent_id` leaves those that name an agent. `limit` is up to 100, which is also the
        default."""
        return await self._connection.run(self._rules.directory.concerns(kind, intent_id, agent_id, limit, cursor))

    def lease(self, intent_id: str, scope: str, *, duration_seconds: int = 60, wait_seconds: int = 0) -> AsyncLease:
        """Leases a scope for the block of `async with`:
        it renews itself until the block ends, and the block is cancelled if it is lost. `duration_seconds` is how long it
        outlives a program that cannot renew it, and `wait_seconds`, up to 600, how long to wait for a scope that is taken.
        Then it raises AlreadyExistsError with reason LEASE_HELD."""
        return AsyncLease(self._connection, self._rules.leases, intent_id, scope, duration_seconds, wait_seconds)

    def mailbox(
        self, agent: str, *, channels: Sequence[str] | None = None, attention: bool = True, max_chars: int = 4_000
    ) -> AsyncMailbox:
        """Returns the mailbox of an agent that is running: what came since it looked last, as texts that a model may be
        shown, which come again until they are settled. `channels` are the names or ids of those of which it takes
        messages; a mailbox with others is another one. Without `attention`, it does not say what messages ask of the
        agent. The texts of a batch have at most `max_chars` characters, 2,000 or more. A client that acts as nobody, or
        as another agent, gets a connection for it that acts as the agent, if its key may."""
        connection, rules, settings = self._connection, self._rules, self._settings
        owns = settings.agent_id != agent
        if owns:
            settings = acting_as(settings, agent)
            calls = rules.calls
            connection = AsyncConnection(settings)
            rules = Rules(settings, calls.patience, rules.tracing.provider, calls.connect_timeout)
        return AsyncMailbox(connection, rules, agent, channels, attention, max_chars, owns_connection=owns)

    async def close(self) -> None:
        """Ends the connection, and everything that waits on it."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncOpenIntentClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncChannels:
    """Channels as handles, by name or by id."""

    def __init__(self, client: AsyncOpenIntentClient) -> None:
        self._client = client

    async def open(
        self,
        name: str,
        intent_id: str | None = None,
        members: Sequence[str] = (),
        member_policy: str = "intent",
        options: Options | None = None,
    ) -> AsyncChannelHandle:
        """Gets the intent's open channel of this name, or creates it with the members, policy and options. When
        several callers do so at once, they all get the same channel. Without an intent it is the client's own."""
        client = self._client
        steps = client._rules.channels.open(name, intent_id, members, member_policy, options)
        return AsyncChannelHandle(client, await client._connection.run(steps))

    async def get(self, channel_id: str) -> AsyncChannelHandle:
        """Reads the channel with this id and returns its handle."""
        return AsyncChannelHandle(self._client, await self._client.get_channel(channel_id))


class AsyncIntents:
    """The few calls on intents that conversations need."""

    def __init__(self, client: AsyncOpenIntentClient) -> None:
        self._client = client

    async def create(
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
        control list with it; without one the server's setting says what everyone may do. After an UnavailableError, the
        intent may exist all the same."""
        client = self._client
        steps = client._rules.intents.create(
            title, description, status, state, constraints, parent_intent_id, depends_on, default_policy
        )
        return await client._connection.run(steps)

    async def open(
        self, title: str, description: str | None = None, *, default_policy: str | None = None
    ) -> Intent:
        """Finds the intent of a title, or makes it, so that agents which agree on a title need no ids. The server takes one
        that is the caller's or names it first, then another one that the caller may read, and makes an active one if there
        is none; the description and `default_policy` are for that one. Of several it takes none (AlreadyExistsError)."""
        steps = self._client._rules.intents.open(title, description, default_policy)
        return await self._client._connection.run(steps)

    async def list(
        self,
        status: str | None = None,
        *,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> IntentPage:
        """Lists a page of the intents that the caller may read, with this status if one is given: the oldest first, or the
        newest with `order="desc"`. `cursor` is the `next_cursor` of the page before."""
        steps = self._client._rules.intents.list(status, order, limit, cursor)
        return await self._client._connection.run(steps)

    async def get(self, intent_id: str | None = None) -> Intent:
        """Reads an intent: the client's own, if none is given."""
        return await self._client._connection.run(self._client._rules.intents.get(intent_id))

    async def set_status(self, intent_id: str, status: str, reason: str | None = None) -> Intent:
        """Moves an intent along its lifecycle."""
        return await self._client._connection.run(self._client._rules.intents.set_status(intent_id, status, reason))
