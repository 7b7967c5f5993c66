"""The rules of finding agents and the roles that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _methods as methods
from ._calls import Calls
from ._effects import Steps
from ._generated import agents_pb2
from ._words import number
from .directory import AgentPage, AgentRecord, Role, agent_of, agent_page_of


@dataclass(slots=True)
class Directory:
    """Lists agents and roles. Each call is a page, except where it says that it reads all."""

    calls: Calls

    def agents(
        self, role: str | None, status: str | None, capabilities: Sequence[str], limit: int | None, cursor: str | None
    ) -> Steps[AgentPage]:
        """Lists a page of agents."""
        request = agents_pb2.ListAgentsRequest(role_id=role, capabilities=capabilities, limit=limit, cursor=cursor)
        if status is not None:
            request.status = number(agents_pb2.AgentStatus, "AGENT_STATUS_", status, "status")
        return agent_page_of((yield from self.calls.call(methods.LIST_AGENTS, request)))

    def agent(self, agent_id: str) -> Steps[AgentRecord]:
        """Reads one record."""
        return agent_of((yield from self.calls.call(methods.GET_AGENT, agents_pb2.GetAgentRequest(agent_id=agent_id))))

    def roles(self) -> Steps[tuple[Role, ...]]:
        """Gathers the roles of all active agents. All pages share one deadline."""
        deadline, request = self.calls.deadline(), agents_pb2.ListAgentsRequest()
        holders: dict[str, list[str]] = {}
        while True:
            page = yield from self.calls.call(methods.LIST_AGENTS, request, deadline=deadline)
            for agent in page.agents:
                if agent.role_id:
                    holders.setdefault(agent.role_id, []).append(agent.agent_id)
            if not page.next_cursor:
                return tuple(Role(role, tuple(holders[role])) for role in sorted(holders))
            request.cursor = page.next_cursor
