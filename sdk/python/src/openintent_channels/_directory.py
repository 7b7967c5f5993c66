"""The rules of finding agents, the roles that they hold, the ways to them, and what needs somebody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _methods as methods
from ._calls import Calls
from ._effects import Steps
from ._generated import agents_pb2, concern_pb2, reach_pb2
from ._words import number
from .concerns import ConcernPage, concern_page_of
from .directory import AgentPage, AgentRecord, Role, agent_of, agent_page_of
from .reach import Reach, reach_of


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

    def reach(self, agent_id: str) -> Steps[Reach]:
        """Reads which ways to an agent are open."""
        return reach_of((yield from self.calls.call(methods.GET_REACH, reach_pb2.GetReachRequest(agent_id=agent_id))))

    def concerns(
        self, kind: str | None, intent_id: str | None, agent_id: str | None, limit: int | None, cursor: str | None
    ) -> Steps[ConcernPage]:
        """Lists a page of what needs the caller."""
        request = concern_pb2.ListConcernsRequest(intent_id=intent_id, agent_id=agent_id, limit=limit, cursor=cursor)
        if kind is not None:
            request.kind = number(concern_pb2.ConcernKind, "CONCERN_KIND_", kind, "kind")
        return concern_page_of((yield from self.calls.call(methods.LIST_CONCERNS, request)))

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
