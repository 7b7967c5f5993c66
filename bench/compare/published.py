"""Drives the published server, or this one, with the published client, as its users do.

Usage: published.py BASE_URL API_KEY

Reads a job from each line of its input and answers each with a line of figures, as `compare drive` does. The one job is
`ask`: callers that ask an agent with the client's ask(), which sends the request and then lists the channel until the
response is there, each half second. The agent follows the channel with the package's stream and answers at once.
"""

import json
import sys
import threading
import time

from openintent import OpenIntentClient
from openintent.streaming import SSEStream

BASE, KEY = sys.argv[1], sys.argv[2]
PAYLOAD = {"question": "what schema version does the dataset use? " * 11, "attempt": 1}


def client(agent):
    return OpenIntentClient(BASE, api_key=KEY, agent_id=agent)


def answer(channel, events):
    responder = client("bench-responder")
    for event in events:
        message = event.data
        if message.get("message_type") == "request":
            responder.reply_to(channel, message["id"], "bench-responder", payload=PAYLOAD)


def await_stream(channel, attempts=10):
    """The stream does not say when it has begun, and what was sent before does not come; an ask that is answered tells."""
    while True:
        try:
            return client("bench-asker").ask(channel, "bench-asker", "bench-responder", PAYLOAD, timeout=1)
        except TimeoutError:
            attempts -= 1
            if attempts == 0:
                raise


def ask(job):
    opener = client("bench-asker")
    channel = opener.create_channel(opener.create_intent("Bench", description="asks").id, "asks")["id"]
    stream = SSEStream(f"{BASE}/api/v1/subscribe/channels/{channel}", {"X-API-Key": KEY, "X-Agent-ID": "bench-responder"})
    threading.Thread(target=answer, args=(channel, stream), daemon=True).start()
    await_stream(channel)
    took, failures = [], []
    started = time.monotonic()
    until = started + job["Seconds"]

    def caller():
        asker = client("bench-asker")
        try:
            while (before := time.monotonic()) < until:
                asker.ask(channel, "bench-asker", "bench-responder", PAYLOAD)
                took.append(time.monotonic() - before)
        except Exception as error:
            failures.append(error)

    callers = [threading.Thread(target=caller) for _ in range(job["Callers"])]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    elapsed = time.monotonic() - started
    stream.stop()
    if failures:
        raise failures[0]
    took.sort()
    return {
        "PerSecond": len(took) / elapsed,
        "Median": int(took[len(took) // 2] * 1e9),
        "Slow": int(took[len(took) * 99 // 100] * 1e9),
    }


for line in sys.stdin:
    try:
        figures = ask(json.loads(line))
    except Exception as error:
        figures = {"Error": f"{type(error).__name__}: {error}"}
    print(json.dumps(figures), flush=True)
