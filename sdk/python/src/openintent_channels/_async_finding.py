"""The agents and the roles of a server, for asyncio."""

from __future__ import annotations

from collections.abc import Sequence

from ._async_running import AsyncConnection
from ._directory import Directory
from .directory import AgentPage, AgentRecord, Role


class AsyncAgents:
    """The records of agents."""

    def __init__(self, connection: AsyncConnection, directory: Directory) -> None:
        self._connection = connection
        self._directory = directory

    async def list(
        self,
        role: str | None = None,
        *,
        status: str | None = None,
        capabilities: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AgentPage:
        """Lists a page of agents, by id: those that are active unless `status` says otherwise, with the role, and with any
        of the capabilities. `cursor` is the `next_cursor` of the page before."""
        steps = self._directory.agents(role, status, capabilities, limit, cursor)
        return await self._connection.run(steps)

    async def get(self, agent_id: str) -> AgentRecord:
        """Reads the record of an agent."""
        return await self._connection.run(self._directory.agent(agent_id))


class AsyncRoles:
    """The roles that agents hold."""

    def __init__(self, connection: AsyncConnection, directory: Directory) -> None:
        self._connection = connection
        self._directory = directory

    async def list(self) -> tuple[Role, ...]:
        """Lists the roles of all active agents, by name. It reads all pages of agents."""
        return await self._connection.run(self._directory.roles())
