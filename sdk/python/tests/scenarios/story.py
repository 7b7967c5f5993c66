"""Scenario files: reading them, and refusing what this suite does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DIRECTORY = Path(__file__).resolve().parents[4] / "sdk" / "scenarios"

_FILE = {"name", "engines", "disturbs", "needs", "intent", "agents", "steps"}
_HAS = {"mailbox"}
"""What this SDK has of what a scenario may need."""
_WAITING = {"compose", "digest_seconds", "max_chars"}
_AGENT = {"id", "role", "concurrency", "handlers", "attention", "skip_unaddressed", "process", "drain", *_WAITING}
_ABOUT = {"channel", "mention", "obligation", "digest"}
_HANDLER = {"reply", "echo", "attempt", "fail", "nothing", "gate", "ask", "message_reply", "note", *_ABOUT}
_STEP = {"as", "do", "with", "expect", "expect_error", "save", "background", "repeat", "parallel"}
_ERROR = {"class", "reason", "message_contains", "message_id"}

_SAYING = {"parent", "subject", "kind", "priority", "mentions", "directedness", "policy"}
_ASK = {"channel", "to", "payload", "timeout", "min_responses", "collect", "fail_fast", *_SAYING}
_CHANNEL = {"channel", "members", "member_policy", "options"}
_ON_MESSAGE = {"channel", "message"}
_SEND = {"channel", "to", "payload", "message_type", "metadata", "expires_in", "sender", "collect", "obligation", *_SAYING}
STEPS: dict[str, set[str]] = {
    "create_channel": _CHANNEL,
    "open": _CHANNEL,
    "open_intent": {"title"},
    "close_channel": {"channel"},
    "get_channel": {"channel"},
    "list_channels": {"channel"},
    "send": _SEND,
    "notify": _SEND,
    "broadcast": _SEND,
    "ask": _ASK - {"min_responses"},
    "ask_all": _ASK,
    "ask_all_iter": _ASK,
    "resume_ask": {*_ON_MESSAGE, "timeout"},
    "reply": {*_ON_MESSAGE, "payload", "metadata", "fence", *_SAYING},
    "list_messages": {"channel", "since", "to", "limit", "message_type", "thread_id"},
    "get_message": _ON_MESSAGE,
    "mark_read": _ON_MESSAGE,
    "thread": _ON_MESSAGE,
    "edit": {*_ON_MESSAGE, "payload", "metadata", "subject", "mentions", "supersede"},
    "delete": _ON_MESSAGE,
    "revisions": _ON_MESSAGE,
    "search": {"channel", "q", "sender", "kind", "thread_id", "limit", "count"},
    "react": {*_ON_MESSAGE, "signal", "note", "eta"},
    "unreact": {*_ON_MESSAGE, "signal"},
    "reactions": _ON_MESSAGE,
    "discharge": {*_ON_MESSAGE, "note"},
    "obligations": {"side"},
    "concerns": {"kind", "count"},
    "claim": _ON_MESSAGE,
    "release_claim": {"claim"},
    "attention": {*_ON_MESSAGE, "agent"},
    "dispositions": {*_ON_MESSAGE, "count"},
    "follow": {"channel"},
    "followed": {"follow", "count"},
    "follow_ends": {"follow"},
    "wait": {"background"},
    "wait_handled": {"agent", "count"},
    "handled": {"agent", "count"},
    "together": {"agent", "messages"},
    "digested": {"agent", "count"},
    "start_agent": {"agent"},
    "stop_agent": {"agent"},
    "status_note": {"agent", "note"},
    "deregister": {"agent"},
    "presence": {"agent", "note", "status"},
    "reach": {"agent", "level"},
    "probe": {"agent"},
    "release": {"gate"},
    "set_status": {"status"},
    "set_access": {"default_policy", "entries"},
    "remove_member": {"channel", "agent"},
    "restart": set(),
    "kill": set(),
    "move": set(),
    "use_replica": {"client", "replica"},
    "register": {"role"},
    "open_mailbox": {"mailbox", "channels", "attention", "max_chars", "apart"},
    "take": {"mailbox", "count", "wait"},
    "settle": {"mailbox", "except"},
    "waiting": {"mailbox", "count"},
    "answer": {"mailbox", "message", "payload"},
    "decline": {"mailbox", "message", "note"},
    "read": {"mailbox", "message"},
    "tool": {"mailbox", "tool", "with"},
    "close_mailbox": {"mailbox"},
    "kill_mailbox": {"mailbox"},
}
"""What each step takes."""

Story = dict[str, Any]


def read_all() -> list[Story]:
    """Reads all scenarios: those that disturb servers last."""
    stories = [read(path) for path in sorted(DIRECTORY.glob("*.yaml"))]
    if not stories:
        raise FileNotFoundError(f"there are no scenarios in {DIRECTORY}")
    return sorted(stories, key=lambda story: bool(story.get("disturbs")))


def read(path: Path) -> Story:
    """Reads one scenario. Raises ValueError for a field or step that this suite does not know."""
    story: Story = yaml.safe_load(path.read_text(encoding="utf-8"))
    _check(story, _FILE, path.name)
    _check(dict.fromkeys(story.get("needs", [])), _HAS, path.name)
    for agent in story.get("agents", []):
        check_agent(agent, path.name)
    for i, step in enumerate(story["steps"]):
        where = f"{path.name}: step {i + 1}"
        _check(step, _STEP, where)
        if step["do"] not in STEPS:
            raise ValueError(f"{where}: unknown step {step['do']!r}")
        _check(step.get("with") or {}, STEPS[step["do"]], where)
        _check(step.get("expect_error") or {}, _ERROR, where)
        if step["do"] == "start_agent":
            check_agent(step["with"]["agent"], where)
    return {**story, "file": path.name}


def check_agent(agent: dict[str, Any], where: str) -> None:
    """Refuses an agent with fields that this suite does not know."""
    _check(agent, _AGENT, where)
    for handler in agent.get("handlers", []):
        _check(handler, _HANDLER, where)


def _check(said: dict[str, Any], known: set[str], where: str) -> None:
    if unknown := set(said) - known:
        raise ValueError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}")
