"""The servers on which scenarios are told, as the environment names them."""

from __future__ import annotations

import json
import os
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """Where the servers are, and what starts and stops them."""

    server: str
    replica: str
    url: str
    api_key: str
    control: str
    engine: str

    @classmethod
    def from_environment(cls) -> Stage:
        """Reads the environment. Raises KeyError, which names the variable, when one is not set."""
        names = ("SERVER", "REPLICA", "URL", "API_KEY", "CONTROL", "ENGINE")
        return cls(*(os.environ[f"OPENINTENT_{name}"] for name in names))

    def disturb(self, how: str) -> None:
        """Restarts, kills or moves the first server, and returns when it serves."""
        self._send("POST", f"{self.control}/{how}", None, None)

    def rest(self, method: str, path: str, agent: str | None, body: Any = None) -> Any:
        """Calls the REST interface, for what the SDK does not have."""
        return self._send(method, f"{self.url}{path}", agent, body)

    def _send(self, method: str, url: str, agent: str | None, body: Any) -> Any:
        request = urllib.request.Request(url, method=method, headers={"X-API-Key": self.api_key})
        if agent is not None:
            request.add_header("X-Agent-ID", agent)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None
