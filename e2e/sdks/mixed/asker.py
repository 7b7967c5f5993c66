"""Asks a question after the other on the channel of an intent and prints each answer as a line of JSON.

    asker.py INTENT_ID CHANNEL RESPONDER COUNT
"""

import json
import sys

from openintent_channels import OpenIntentClient, RemoteError


def main() -> None:
    intent_id, name, responder, count = sys.argv[1:]
    with OpenIntentClient(agent_id="python-asker") as client:
        channel = client.channels.open(name, intent_id)
        for n in range(int(count)):
            try:
                answer = channel.ask(responder, {"n": n, "text": "größer als 😀?"}, timeout=60)
                print(json.dumps({"answer": answer.payload}))
            except RemoteError as failure:
                print(json.dumps({"failure": failure.message}))


main()
