"""The load of the Python SDK.

Usage: ask.py answer|ask SERVER KEY CHANNEL RESPONDER

`answer` runs an agent that answers each request at once, and says when it receives. `ask` reads a job from each line of its
input and answers each with a line of figures, as `compare drive` does: callers that ask the agent, one question after the
other, in threads or (work `ask async`) in tasks of an event loop. Both end with their input.
"""

import asyncio
import json
import sys
import threading
import time

from openintent_channels import Agent, AsyncOpenIntentClient, OpenIntentClient, on_message

PART, SERVER, KEY, CHANNEL, RESPONDER = sys.argv[1:]
ASKER = "bench-asker"
PAYLOAD = {"question": "what schema version does the dataset use? " * 11, "attempt": 1}
CONCURRENCY = 64


@Agent(RESPONDER, server=SERVER, api_key=KEY, concurrency=CONCURRENCY)
class Responder:
    @on_message()
    async def answer(self, message):
        return PAYLOAD


async def answer():
    async with Responder():
        print(json.dumps({"Ready": True}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def figures(took, elapsed):
    took.sort()
    return {
        "PerSecond": len(took) / elapsed,
        "Median": int(took[len(took) // 2] * 1e9),
        "Slow": int(took[len(took) * 99 // 100] * 1e9),
    }


def ask_in_threads(client, job):
    client.ask(CHANNEL, RESPONDER, PAYLOAD)  # the first connects
    took, failures = [], []
    started = time.monotonic()
    until = started + job["Seconds"]

    def caller():
        try:
            while (before := time.monotonic()) < until:
                client.ask(CHANNEL, RESPONDER, PAYLOAD)
                took.append(time.monotonic() - before)
        except Exception as error:
            failures.append(error)

    callers = [threading.Thread(target=caller) for _ in range(job["Callers"])]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    if failures:
        raise failures[0]
    return figures(took, time.monotonic() - started)


async def ask_in_tasks(client, job):
    await client.ask(CHANNEL, RESPONDER, PAYLOAD)
    took = []
    started = time.monotonic()
    until = started + job["Seconds"]

    async def caller():
        while (before := time.monotonic()) < until:
            await client.ask(CHANNEL, RESPONDER, PAYLOAD)
            took.append(time.monotonic() - before)

    await asyncio.gather(*(caller() for _ in range(job["Callers"])))
    return figures(took, time.monotonic() - started)


def tell(told):
    print(json.dumps(told), flush=True)


async def ask():
    blocking = OpenIntentClient(SERVER, api_key=KEY, agent_id=ASKER)
    async with AsyncOpenIntentClient(SERVER, api_key=KEY, agent_id=ASKER) as awaiting:
        while line := await asyncio.to_thread(sys.stdin.readline):
            job = json.loads(line)
            try:
                if job["Work"] == "ask async":
                    tell(await ask_in_tasks(awaiting, job))
                else:
                    tell(await asyncio.to_thread(ask_in_threads, blocking, job))
            except Exception as error:
                tell({"Error": f"{type(error).__name__}: {error}"})


asyncio.run(answer() if PART == "answer" else ask())
