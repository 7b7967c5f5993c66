"""Asks a question and answers it, with a client made of the OpenAPI document. It prints the answer, and the reason of a refusal."""

import os
import threading

from open_intent_client import AuthenticatedClient
from open_intent_client.api.channel_service import channel_service_create_channel, channel_service_get_channel
from open_intent_client.api.intent_service import intent_service_create_intent
from open_intent_client.api.message_service import message_service_ask, message_service_get_inbox, message_service_reply_message
from open_intent_client.models import AskRequest, CreateChannelRequest, CreateIntentRequest, ReplyMessageRequest

client = AuthenticatedClient(base_url=os.environ["OPENINTENT_URL"], token=os.environ["OPENINTENT_API_KEY"], timeout=90)


def payload(text):
    return {"payload": {"text": text}}


def answer_one():
    inbox = message_service_get_inbox.sync("bob", client=client, x_agent_id="bob", wait_seconds=60)
    for item in inbox.items:
        asked = item.message
        message_service_reply_message.sync(
            asked.channel_id,
            asked.id,
            client=client,
            x_agent_id="bob",
            body=ReplyMessageRequest.from_dict(payload(asked.payload["text"] + " Yes.")),
        )


intent = intent_service_create_intent.sync(client=client, x_agent_id="alice", body=CreateIntentRequest(title="Ask over REST"))
channel = channel_service_create_channel.sync(
    intent.id, client=client, x_agent_id="alice", body=CreateChannelRequest(name="questions")
)
answering = threading.Thread(target=answer_one)
answering.start()
answer = message_service_ask.sync(
    channel.id,
    client=client,
    x_agent_id="alice",
    idempotency_key="once",
    body=AskRequest.from_dict({"to": "bob", "timeout_seconds": 60, **payload("Does it work?")}),
)
answering.join()
print(answer.sender, answer.message_type.value, answer.payload["text"])

refused = channel_service_get_channel.sync("chan_nowhere", client=client, x_agent_id="alice")
print(refused.status, refused.reason)
