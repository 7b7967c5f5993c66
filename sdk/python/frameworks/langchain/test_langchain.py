"""What LangGraph's checkpoints add: a tool call that is repeated happens once. A graph of one's own is shown what came."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from stage import PATIENCE, Stage, calls

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.langchain import new_messages, run_of


def test_a_send_that_is_repeated_from_a_checkpoint_happens_once(stage: Stage) -> None:
    if not stage.stores:
        return  # without a checkpoint, the model begins anew
    sending = ("c1", "send", {"channel": stage.channel.id, "text": "Once.", "to": "asker"})
    killed = stage.run(calls(sending, hang_after="send"))
    message = stage.send("Tell me something.")
    killed.called(1)
    killed.until(lambda line: line.get("hangs") == "send")
    killed.kill()
    process = stage.run()
    assert set(process.called(1)["shown"]) == {message}
    assert process.calls[0]["results"][0].startswith("Sent as ")
    process.stop()
    assert stage.said("Once.") == 1


def test_a_graph_of_ones_own_is_shown_what_came(stage: Stage) -> None:
    async def play() -> None:
        async with AsyncOpenIntentClient(agent_id=stage.agent) as client, client.mailbox(stage.agent) as mailbox:

            async def model(state: MessagesState) -> dict[str, Any]:
                new = await new_messages(mailbox, state["messages"])
                return {"messages": [*new, AIMessage(f"I see {len(new)}.")]}

            graph = StateGraph(MessagesState)
            graph.add_node("model", model)
            graph.add_edge(START, "model")
            graph.add_edge("model", END)
            made: Any = graph.compile(checkpointer=InMemorySaver())
            message = stage.send("Look.")
            came = asyncio.Event()
            mailbox.wake(came.set)
            await mailbox.open()
            await asyncio.wait_for(came.wait(), PATIENCE)
            config: Any = {"configurable": {"thread_id": "one"}}
            for sees in ("I see 1.", "I see 0."):
                async with run_of(mailbox):
                    state = await made.ainvoke({"messages": [("user", "Go on.")]}, config)
                assert state["messages"][-1].content == sees
            assert mailbox._mail.letter(message) is None, "it is settled"
            outside = await made.ainvoke({"messages": [("user", "Go on.")]}, {"configurable": {"thread_id": "two"}})
            assert outside["messages"][-1].content == "I see 0."

    asyncio.run(play())
