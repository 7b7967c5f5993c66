"""A pipeline of agents: ingest -> a pool of cleaners -> analyst -> reporter.

The workflow file says which channels there are and who handles what. `openintent apply` makes the channels, and
`Agent.from_workflow` binds the handlers. All agents run in this program; each could as well run in one of its own.
"""

import asyncio
import json
import pathlib
import subprocess
from collections import Counter
from contextlib import AsyncExitStack

from openintent_channels import Agent, AsyncOpenIntentClient

WORKFLOW = pathlib.Path(__file__).with_name("workflow.yaml")
BATCHES = [
    ["north 120", "south 80", "north ?"],
    ["east 45", "", "south 20"],
    ["north 15", "west 300"],
    ["east -", "west 60", "south 10"],
]


class Stage:
    """What the handlers of an agent have in common: the agent, once it is made."""

    def __init__(self, agent_id, **options):
        self.agent = Agent.from_workflow(WORKFLOW, agent_id, self, **options)

    async def channel(self, name, intent_id):
        return await self.agent.channels.open(name, intent_id)


class Cleaner(Stage):
    async def clean(self, message):
        if message.message_type == "request":
            return {"says": "I can clean"}
        orders = [line.split() for line in message.payload["lines"]]
        orders = [{"region": order[0], "amount": int(order[1])} for order in orders if order and order[-1].isdigit()]
        channel = await self.channel("clean", message.intent_id)
        says = f"batch {message.payload['batch']} has {len(orders)} good orders"
        await channel.notify("analyst", {**message.payload, "says": says, "orders": orders})


class Analyst(Stage):
    def __init__(self, agent_id):
        super().__init__(agent_id)
        self.batches = {}  # by number: a batch that comes again after a crash counts once

    async def count(self, message):
        self.batches[message.payload["batch"]] = message.payload["orders"]
        if len(self.batches) < message.payload["of"]:
            return
        totals = Counter()
        for orders in self.batches.values():
            for order in orders:
                totals[order["region"]] += order["amount"]
        channel = await self.channel("figures", message.intent_id)
        await channel.ask("reporter", {"says": f"please report {totals.total()} in {len(totals)} regions", "totals": totals})


class Reporter(Stage):
    async def write(self, message):
        best, amount = max(message.payload["totals"].items(), key=lambda total: total[1])
        return {"says": f"{best} is the best region, with {amount}"}


async def ingest(client, intent_id):
    raw = await client.channels.open("raw", intent_id)
    answers = await raw.ask_all("role:cleaner", {"says": "who can clean?"}, timeout=10, min_responses=2)
    pool = sorted(answer.sender for answer in answers)
    for i, lines in enumerate(BATCHES):
        says = f"batch {i + 1} has {len(lines)} lines"
        await raw.notify(pool[i % len(pool)], {"says": says, "batch": i + 1, "of": len(BATCHES), "lines": lines})


def print_timeline(messages):
    verbs = {"request": "asks", "response": "answers", "notify": "tells"}
    start = messages[0].created_at
    for message in messages:
        seconds = (message.created_at - start).total_seconds()
        who = f"{message.sender} {verbs[message.message_type]} {message.to}"
        print(f"{seconds:6.3f} s  {who:<28}{message.payload['says']}")


async def work(intent_id):
    """Runs all agents until the report is there, and gives what they said on all channels, in order."""
    async with AsyncExitStack() as running:
        operator = await running.enter_async_context(AsyncOpenIntentClient())
        raw, clean, figures = [
            await running.enter_async_context((await operator.channels.open(name, intent_id)).messages())
            for name in ("raw", "clean", "figures")
        ]
        for stage in [
            Cleaner("cleaner-1", role="cleaner"), Cleaner("cleaner-2", role="cleaner"), Analyst("analyst"), Reporter("reporter")
        ]:
            await running.enter_async_context(stage.agent)
        await ingest(await running.enter_async_context(AsyncOpenIntentClient(agent_id="ingest")), intent_id)

        said = [await anext(figures), await anext(figures)]  # the analyst's question and the reporter's answer
        await operator.intents.set_status(intent_id, "completed")  # closes the channels, which ends following them
        for channel in raw, clean, figures:
            said += [message async for message in channel]
        return sorted(said, key=lambda message: message.position)


applied = subprocess.run(["openintent", "apply", WORKFLOW, "--json"], check=True, stdout=subprocess.PIPE)
intent_id = json.loads(applied.stdout)["intent"]["id"]
print_timeline(asyncio.run(asyncio.wait_for(work(intent_id), timeout=60)))
