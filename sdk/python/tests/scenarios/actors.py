"""Those who act in a scenario, each with a client: blocking ones, whose calls run in threads, and asynchronous ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any

from openintent_channels import (
    AsyncChannelHandle,
    AsyncOpenIntentClient,
    Channel,
    ChannelHandle,
    Message,
    OpenIntentClient,
)

Take = Callable[[Message], None]


class AsyncActor:
    """One who acts through the asynchronous client."""

    def __init__(self, server: str, api_key: str, agent_id: str | None) -> None:
        self.client = AsyncOpenIntentClient(server, api_key=api_key, agent_id=agent_id)

    async def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Calls a method of the client or of one of its handles."""
        return await function(*arguments, **named)

    async def gather(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        """Calls a method that returns an iteration, and gathers everything that it yields."""
        return [value async for value in function(*arguments, **named)]

    def handle(self, channel: Channel) -> Any:
        """Returns a handle of a channel that is known."""
        return AsyncChannelHandle(self.client, channel)

    async def follow(self, handle: Any, take: Take) -> Awaitable[None]:
        """Begins following. The task that it returns ends with the following, and with its error if there is one."""
        following = handle.messages()
        await following.started()

        async def go_on() -> None:
            async for message in following:
                take(message)

        return asyncio.ensure_future(go_on())

    async def claim(self, handle: Any, message_id: str) -> Any:
        """Claims a message until `release`."""
        return await handle.claim(message_id).__aenter__()

    async def release(self, claim: Any) -> None:
        """Gives a claim back."""
        await claim.__aexit__(None, None, None)

    async def close(self) -> None:
        """Ends the client."""
        await self.client.close()


class BlockingActor:
    """One who acts through the blocking client."""

    def __init__(self, server: str, api_key: str, agent_id: str | None, threads: Executor) -> None:
        self.client = OpenIntentClient(server, api_key=api_key, agent_id=agent_id)
        self._threads = threads

    async def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Calls a method of the client or of one of its handles."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *arguments, **named))

    async def gather(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        """Calls a method that returns an iteration, and gathers everything that it yields."""
        return list(await self.call(lambda: list(function(*arguments, **named))))

    def handle(self, channel: Channel) -> Any:
        """Returns a handle of a channel that is known."""
        return ChannelHandle(self.client, channel)

    async def follow(self, handle: Any, take: Take) -> Awaitable[None]:
        """Begins following. The task that it returns ends with the following, and with its error if there is one."""
        loop, following = asyncio.get_running_loop(), handle.messages()
        await self.call(following.started)

        def go_on() -> None:
            for message in following:
                loop.call_soon_threadsafe(take, message)

        return asyncio.ensure_future(self.call(go_on))

    async def claim(self, handle: Any, message_id: str) -> Any:
        """Claims a message until `release`."""
        return await self.call(handle.claim(message_id).__enter__)

    async def release(self, claim: Any) -> None:
        """Gives a claim back."""
        await self.call(claim.__exit__, None, None, None)

    async def close(self) -> None:
        """Ends the client, and with it everything that waits in threads."""
        self.client.close()


Actor = AsyncActor | BlockingActor
