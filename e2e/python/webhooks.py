"""Receives a server's webhooks with the package `standardwebhooks`, as their receivers do.

Usage: webhooks.py BASE_URL API_KEY

Runs every function whose name begins with `check_` and prints its name when it went well; the first that fails ends the
program. The key acts as any agent, and the server may post to this machine.
"""

import base64
import http.server
import json
import queue
import re
import sys
import threading

import httpx
from standardwebhooks import Webhook, WebhookVerificationError

BASE, KEY = sys.argv[1], sys.argv[2]
PATIENCE = 60


class Receiver(http.server.ThreadingHTTPServer):
    """Writes down what is posted to it, and answers with the statuses given, the last of them ever after."""

    def __init__(self, *statuses):
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses, self.posts = list(statuses) or [204], queue.Queue()
        self.url = "http://127.0.0.1:%d/hook" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next(self):
        return self.posts.get(timeout=PATIENCE)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        statuses = self.server.statuses
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        self.server.posts.put((dict(self.headers), body))  # before the answer, which lets the next post come
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


def call(agent, method, path, body=None, expected=(200, 201)):
    headers = {"X-API-Key": KEY} | ({"X-Agent-ID": agent} if agent else {})
    response = httpx.request(method, BASE + "/v1" + path, headers=headers, json=body)
    assert response.status_code in expected, response.text
    return response.json()


def new_channel():
    intent = call("alice", "POST", "/intents", {"title": "Research"})
    return intent, call("alice", "POST", f"/intents/{intent['id']}/channels", {"name": "room"})


def send(channel, text):
    return call("alice", "POST", f"/channels/{channel['id']}/messages", {"to": "bob", "payload": {"text": text}})


def check_signatures_verify():
    receiver = Receiver()
    intent, channel = new_channel()
    created = call("bob", "POST", "/subscriptions", {"channel_id": channel["id"], "webhook_url": receiver.url})
    sent = send(channel, "grüße <&> \u2028 \U0001f600")
    headers, body = receiver.next()
    posted = Webhook(created["secret"]).verify(body, headers)
    assert headers["Content-Type"] == "application/json" and headers["User-Agent"].startswith("openintent/")
    assert headers["Webhook-Id"] == created["id"] + "_1", headers
    event = posted["event"]
    assert posted["subscription_id"] == created["id"] and set(posted) == {"subscription_id", "event"}
    assert set(event) == {"id", "intent_id", "event_type", "actor", "payload", "created_at"}, event
    assert (event["id"], event["intent_id"], event["actor"]) == (sent["id"], intent["id"], "alice")
    assert event["event_type"] == "channel_message"
    assert event["created_at"] == sent["created_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["created_at"])
    assert event["payload"] == sent | {"intent_id": intent["id"], "channel_name": "room"}, event["payload"]


def check_forgeries_do_not_verify():
    receiver = Receiver()
    _, channel = new_channel()
    created = call("bob", "POST", "/subscriptions", {"channel_id": channel["id"], "webhook_url": receiver.url})
    send(channel, "true")
    headers, body = receiver.next()
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    for secret, forged_headers, forged_body in (
        (other, headers, body),
        (created["secret"], headers, body.replace(b"true", b"fals")),
        (created["secret"], headers | {"Webhook-Id": created["id"] + "_2"}, body),
        (created["secret"], headers | {"Webhook-Timestamp": str(int(headers["Webhook-Timestamp"]) + 1)}, body),
    ):
        try:
            Webhook(secret).verify(forged_body, forged_headers)
        except WebhookVerificationError:
            continue
        raise AssertionError("a forgery was taken")


def check_what_fails_comes_again_in_order():
    receiver = Receiver(503, 500, 204)
    _, channel = new_channel()
    created = call("bob", "POST", "/subscriptions", {"channel_id": channel["id"], "webhook_url": receiver.url})
    for n in range(3):
        send(channel, f"message {n}")
    verifier, got = Webhook(created["secret"]), []
    for _ in range(5):
        headers, body = receiver.next()
        text = verifier.verify(body, headers)["event"]["payload"]["payload"]["text"]
        got.append((headers["Webhook-Id"].removeprefix(created["id"] + "_"), text))
    first, second, third = (("1", "message 0"), ("2", "message 1"), ("3", "message 2"))
    assert got == [first, first, first, second, third], got


def check_logged_events():
    receiver = Receiver()
    intent, _ = new_channel()
    scope = {"intent_id": intent["id"], "event_types": ["comment"], "webhook_url": receiver.url}
    created = call("bob", "POST", "/subscriptions", scope)
    logged = call("alice", "POST", f"/intents/{intent['id']}/events", {"event_type": "comment", "payload": {"n": 1.5}})
    headers, body = receiver.next()
    assert Webhook(created["secret"]).verify(body, headers)["event"] == logged


def check_endpoint_of_an_agent():
    receiver = Receiver()
    call("carol", "POST", "/agents", {"agent_id": "carol", "endpoint": receiver.url})
    created = call("carol", "POST", "/subscriptions", {"use_endpoint": True})
    _, channel = new_channel()
    call("alice", "POST", f"/channels/{channel['id']}/messages", {"to": "carol", "payload": {}})
    headers, body = receiver.next()
    assert Webhook(created["secret"]).verify(body, headers)["event"]["payload"]["to"] == "carol"


def check_secrets_are_shown_once():
    receiver = Receiver(410)
    _, channel = new_channel()
    created = call("bob", "POST", "/subscriptions", {"channel_id": channel["id"], "webhook_url": receiver.url})
    send(channel, "lost")
    headers, body = receiver.next()
    path = "/subscriptions/" + created["id"]
    while not (letters := call("bob", "GET", path + "/dead_letters")):
        pass
    redriven = call("bob", "POST", path + "/dead_letters/redrive", {})
    assert receiver.next()[0]["Webhook-Id"] == headers["Webhook-Id"], "the same delivery has the same id"
    listed = call("bob", "GET", "/subscriptions")
    for answer in (letters, redriven, listed, call("bob", "GET", path), body.decode(), headers):
        assert "whsec_" not in json.dumps(answer), answer
    assert all(one["secret"] is None for one in listed)


def check_forbidden_addresses():
    _, channel = new_channel()
    for url in ("http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://2852039166/", "ftp://x.example/"):
        refusal = call("bob", "POST", "/subscriptions", {"channel_id": channel["id"], "webhook_url": url}, expected=(400,))
        assert [error["field"] for error in refusal["errors"]] == ["webhook_url"], refusal


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            print(name, flush=True)
