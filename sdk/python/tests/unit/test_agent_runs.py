"""A run is shown what came, and lets go of it when it has ended well; runs begin when something waits, and one at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openintent_channels import _agent_runs
from openintent_channels._agent_runs import (
    HEADING,
    Showing,
    call_key,
    current_showing,
    run_of,
    serve_runs,
    text_of,
    tool_call,
    unheld,
)
from openintent_channels.client import OpenIntentClient
from openintent_channels.errors import UnauthenticatedError
from unit.fake_server import delivery, in_loop
from unit.playing import away
from unit.test_mailbox import Post, ids, opened

ADAPTERS = {
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "langchain": ("langchain", "langchain"),
    "openai_agents": ("agents", "openai-agents"),
    "google_adk": ("google.adk", "google-adk"),
    "agent_framework": ("agent_framework", "agent-framework"),
    "crewai": ("crewai", "crewai"),
}
"""The adapters, each with the package that it imports and its extra."""


def run_python(program: str) -> str:
    """Runs a program in a process of its own, and returns what it says."""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, env=environment)
    return ended.stdout + ended.stderr


def asked_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@in_loop
async def test_a_run_that_ends_well_is_settled_and_one_that_fails_comes_again() -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:
        with pytest.raises(RuntimeError, match="out of tokens"):
            async with run_of(mailbox) as showing:
                assert [one.id for one in await showing.look()] == ["m1"]
                assert current_showing(mailbox) is showing
                raise RuntimeError("out of tokens")
        assert server.acknowledged() == [] and current_showing(mailbox) is None
        async with run_of(mailbox) as showing:
            assert [(one.id, one.attempt) for one in await showing.look()] == [("m1", 2)]
            assert await showing.look() == []
            async with run_of(mailbox) as nested:
                assert nested is showing
            assert server.acknowledged() == [], "only the outermost block settles"
        assert server.acknowledged() == [1]


@in_loop
async def test_a_run_of_one_mailbox_shows_nothing_of_another() -> None:
    async with await opened(Post(), delivery(1)) as mailbox, await opened(Post(), delivery(1)) as other, run_of(mailbox):
        assert current_showing(other) is None


@in_loop
async def test_texts_stand_below_a_heading_and_what_a_history_holds_is_left_out() -> None:
    async with await opened(Post(), delivery(1), delivery(2)) as mailbox:
        messages = list((await mailbox.take()).messages)
        assert text_of(messages) == "\n".join([HEADING, *[message.text for message in messages]])
        assert text_of([]) == ""
        assert unheld(messages, ["Hello.", text_of(messages[:1])]) == messages[1:]
        assert unheld(messages, [f"quoted: {messages[0].text}"]) == messages


def test_a_tool_call_that_is_repeated_has_the_same_key() -> None:
    with tool_call("thread", "call"):
        first = call_key()
    with tool_call("thread", "call"):
        assert call_key() == first
    with tool_call("thread", "other call"):
        assert call_key() != first
    assert call_key() is None


def test_a_blocking_mailbox_is_refused() -> None:
    with OpenIntentClient(agent_id="me") as client, pytest.raises(TypeError, match="an AsyncOpenIntentClient"):
        Showing(client.mailbox("me"))  # type: ignore[arg-type]


@in_loop
async def test_runs_begin_when_something_waits_and_one_at_a_time() -> None:
    server, ran = Post(), list[list[str]]()
    async with await opened(server, delivery(1)) as mailbox:

        async def run(showing: Showing) -> None:
            assert current_showing(mailbox) is showing
            ran.append([one.id for one in showing.messages])
            if len(ran) == 1:
                server.deliver(delivery(2))
            else:
                asked_to_stop()

        await serve_runs(mailbox, run)
        assert ran == [["m1"], ["m2"]] and server.acknowledged() == [1, 2]


@in_loop
async def test_a_run_that_outlasts_its_patience_is_cancelled_and_comes_again() -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:

        async def run(_: Showing) -> None:
            asked_to_stop()
            await asyncio.Event().wait()

        await serve_runs(mailbox, run, drain_seconds=0.01)
        assert server.acknowledged() == [] and await ids(mailbox) == ["m1"]


@in_loop
async def test_a_second_signal_ends_it_at_once() -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:

        async def run(_: Showing) -> None:
            asked_to_stop()
            await asyncio.sleep(0)
            asked_to_stop()
            await asyncio.Event().wait()

        await serve_runs(mailbox, run, drain_seconds=3_600)
        assert server.acknowledged() == [] and await ids(mailbox) == ["m1"]


@in_loop
async def test_what_a_cancelled_caller_was_shown_comes_again() -> None:
    server, began = Post(), asyncio.Event()
    async with await opened(server, delivery(1)) as mailbox:

        async def run(_: Showing) -> None:
            began.set()
            await asyncio.Event().wait()

        serving = asyncio.ensure_future(serve_runs(mailbox, run))
        await began.wait()
        serving.cancel()
        await asyncio.wait([serving])
        assert serving.cancelled() and await ids(mailbox) == ["m1"]


@in_loop
async def test_runs_that_fail_are_tried_again_until_too_many_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_agent_runs, "_FIRST_WAIT", 0.0)
    server, attempts = Post(), list[int]()
    async with await opened(server, delivery(1)) as mailbox:

        async def run(showing: Showing) -> None:
            attempts.append(showing.messages[0].attempt)
            raise RuntimeError("out of tokens")

        with pytest.raises(RuntimeError, match="out of tokens"):
            await serve_runs(mailbox, run, most_failures=3)
        assert attempts == [1, 2, 3] and server.acknowledged() == [] and await ids(mailbox) == ["m1"]


@in_loop
async def test_a_server_that_is_away_when_a_run_is_settled_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_agent_runs, "_FIRST_WAIT", 0.0)
    server, runs = Post(), list[int]()
    async with await opened(server, delivery(1)) as mailbox:
        mailbox._mailing.rules.calls.patience = 0.0

        async def run(_: Showing) -> None:
            runs.append(1)
            server.failing["MarkSurfaced"] = [away("STOPPING"), away("STOPPING")]
            if len(runs) == 2:
                asked_to_stop()
            server.deliver(delivery(2))

        await serve_runs(mailbox, run)
        assert runs == [1, 1] and server.acknowledged() == [1], "a server that is away keeps nobody from ending"


@in_loop
async def test_a_mailbox_that_cannot_receive_ends_it() -> None:
    server = Post()
    async with await opened(server) as mailbox:
        mailbox._receiving._fail(UnauthenticatedError("who?", code="UNAUTHENTICATED"))
        with pytest.raises(UnauthenticatedError):
            await serve_runs(mailbox, lambda _: asyncio.sleep(0))


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_adapter_without_its_framework_says_what_to_install(module: str) -> None:
    package, extra = ADAPTERS[module]
    said = run_python(f"import sys; sys.modules[{package!r}] = None; import openintent_channels.{module}").splitlines()[-1]
    assert said.startswith(f"ImportError: openintent_channels.{module} needs ")
    assert f"pip install 'openintent-channels[{extra}]'" in said


def test_each_adapter_has_an_extra_an_example_and_pinned_tests() -> None:
    root = Path(__file__).resolve().parents[4]
    settings = (root / "sdk/python/pyproject.toml").read_text(encoding="utf-8")
    page = (root / "docs/frameworks.md").read_text(encoding="utf-8")
    for module, (_, extra) in ADAPTERS.items():
        assert f"\n{extra} = [" in settings
        assert (root / f"sdk/python/frameworks/{module}/requirements.txt").exists()
        example = (root / f"examples/frameworks/with_{module}.py").read_text(encoding="utf-8")
        assert example.count("\n") <= 30 and f"| `{module}`, `[{extra}]` |" in page


def test_no_other_module_imports_an_adapter() -> None:
    said = run_python("import sys, openintent_channels; print(sorted(sys.modules))")
    assert "'openintent_channels.mailbox'" in said
    assert not [module for module in ADAPTERS if f"'openintent_channels.{module}'" in said]
