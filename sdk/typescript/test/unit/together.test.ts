import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import type { Digest } from "../../src/conversation-types.js";
import type { AgentSubscription, Delivery } from "../../src/agent/server.js";
import { errorFrom } from "../../src/errors.js";
import { Directedness, Injection, Priority, ResponsePolicy } from "../../src/generated/openintent/v1/attention_pb.js";
import { MessageStatus, MessageType } from "../../src/generated/openintent/v1/messages_pb.js";
import { SubscriptionDeliverySchema } from "../../src/generated/openintent/v1/subscriptions_pb.js";
import { digestBy, receivedBy } from "../../src/grpc/deliveries.js";
import { lost } from "./fakes.js";
import { delivery, play, received, StreamingServer } from "./streaming.js";

const digest: Digest = {
  messageCount: 7,
  counts: [{ channelId: "c", channelName: "desk", sender: "other", kind: "status", count: 6 }],
  subjects: [{ messageId: "m", subject: "Done" }],
  spans: [{ intentId: "i", firstPosition: 2, lastPosition: 9 }],
  leftOutCount: 1,
  attention: null,
  attempt: 2,
};

const together = (number: number, ids: string[], summary: Digest | null = null): Delivery => ({
  number,
  standingBy: false,
  received: ids.map((id) => received(id)),
  digest: summary,
});

test("messages that come together are handled one after the other, and acknowledged once", async () => {
  const server = new StreamingServer([[together(4, ["a", "b", "c"]), together(4, ["a", "b", "c"])], []]);
  const handled: string[] = [];
  let running = 0;
  await play(server, async ({ message, sourceIds }) => {
    assert.deepEqual(sourceIds, ["a", "b", "c"]);
    assert.equal(++running, 1);
    assert.deepEqual(server.acknowledged, []);
    handled.push(message.id);
    await new Promise(setImmediate);
    running--;
  });
  assert.deepEqual(handled, ["a", "b", "c"]);
  assert.deepEqual([...new Set(server.acknowledged)], [4]);
});

test("a delivery stays unacknowledged while one of its messages is not handled, and only that one is handled again", async () => {
  const server = new StreamingServer([[together(4, ["a", "b", "c"]), delivery(5, "d"), lost()], [together(4, ["a", "b", "c"])]]);
  const handled: string[] = [];
  let fails = true;
  await play(server, async ({ message }) => {
    handled.push(message.id);
    if (message.id === "b" && fails) {
      fails = false;
      throw new Error("no answer stored");
    }
    if (message.id === "c") {
      assert.ok(!server.acknowledged.includes(4));
    }
  });
  assert.deepEqual(
    handled.filter((id) => id !== "d"),
    ["a", "b", "c", "b"],
  );
  assert.deepEqual(server.acknowledged.sort(), [4, 5]);
});

test("what is under way or not for handlers holds up no other message of its delivery", async () => {
  const answer = { ...received("r", { messageType: "response" }) };
  const own = { ...received("o", { sender: "me" }) };
  const server = new StreamingServer([
    [
      delivery(1, "a"),
      together(2, ["a", "b"]),
      { number: 3, standingBy: false, received: [answer, own], digest: null },
      { number: 4, standingBy: false, received: [received("c"), own], digest: null },
    ],
  ]);
  const handled: string[] = [];
  await play(server, async ({ message, sourceIds = [] }) => void handled.push([message.id, ...sourceIds].join(" of ")));
  assert.deepEqual(handled, ["a", "b of a of b", "c"]);
  assert.deepEqual(server.acknowledged.sort(), [1, 2, 3, 4]);
});

test("a digest is handled after the messages beside it, and once", async () => {
  const server = new StreamingServer([[together(4, ["a", "b"], digest), together(5, [], digest), together(5, [], digest)]]);
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id), {
    concurrency: 1,
    digested: async ({ messageCount }) => void handled.push(`digest of ${messageCount}`),
  });
  assert.deepEqual(handled, ["a", "b", "digest of 7", "digest of 7"]);
  assert.deepEqual([...new Set(server.acknowledged)], [4, 5]);
});

test("the process that starts last decides how messages wait", async () => {
  const plain: AgentSubscription = { id: "old", createdAt: new Date(0), active: true };
  const quiet = { ...plain, compose: true, digestSeconds: 60, maxChars: 2000 };
  const wanted = { compose: true, digestSeconds: 60 };
  const opened = async (there: AgentSubscription, waiting: object): Promise<{ opened: string[]; log: string[] }> => {
    const server = new StreamingServer([[]]);
    server.there = there;
    const { log } = await play(server, async () => {}, { waiting });
    return { opened: server.opened, log };
  };
  for (const [there, waiting] of [
    [plain, {}],
    [quiet, wanted],
    [quiet, { ...wanted, maxChars: 2000 }],
  ] as const) {
    assert.deepEqual((await opened(there, waiting)).opened, ["old"]);
  }
  for (const [there, waiting] of [
    [plain, wanted],
    [plain, { compose: true }],
    [quiet, {}],
    [quiet, { ...wanted, maxChars: 900 }],
  ] as const) {
    const { opened: streams, log } = await opened(there, waiting);
    assert.deepEqual(streams, ["sub_1"]);
    assert.ok(log.includes("info agent me replaces its subscription, which lets messages wait in another way"));
  }

  // Another process replaces the subscription of one that runs.
  const gone = errorFrom({ code: "NOT_FOUND", reason: "SUBSCRIPTION_NOT_FOUND", message: "" });
  const server = new StreamingServer([[gone], []]);
  const createSubscription = server.createSubscription.bind(server);
  server.createSubscription = async () => {
    const made = await createSubscription();
    server.there = plain;
    return made;
  };
  await play(server, async () => {}, { waiting: wanted });
  assert.deepEqual(server.opened, ["sub_1", "old"]);
});

test("a delivery is read with its earlier messages and its digest", () => {
  const notify = { messageType: MessageType.NOTIFY, status: MessageStatus.DELIVERED, createdAt: { seconds: 1n, nanos: 0 } };
  const attention = {
    directedness: Directedness.AMBIENT,
    policy: ResponsePolicy.MUST_NOT_RESPOND,
    injection: Injection.DIGEST,
    priority: Priority.NORMAL,
    reason: "digest",
  };
  const wire = create(SubscriptionDeliverySchema, {
    number: 4n,
    attempt: 2,
    intentId: "i",
    position: 9n,
    channelName: "desk",
    message: { id: "b", ...notify },
    earlier: [{ intentId: "i", position: 8n, channelName: "hall", message: { id: "a", ...notify }, attention }],
  });
  assert.deepEqual(
    receivedBy(wire).map(({ message: { id }, ...rest }) => ({ id, ...rest, attention: rest.attention?.reason })),
    [
      { id: "a", intentId: "i", channelName: "hall", position: 8, attempt: 2, attention: "digest" },
      { id: "b", intentId: "i", channelName: "desk", position: 9, attempt: 2, attention: undefined },
    ],
  );
  assert.equal(digestBy(wire), null);
  const summary = {
    messageCount: 7,
    leftOutCount: 1,
    counts: [{ channelId: "c", channelName: "desk", sender: "other", kind: "status", count: 6 }],
    subjects: [{ messageId: "m", subject: "Done" }],
    spans: [{ intentId: "i", firstPosition: 2n, lastPosition: 9n }],
  };
  const alone = digestBy(create(SubscriptionDeliverySchema, { attempt: 2, digest: summary, attention }));
  assert.equal(alone?.attention?.policy, "must_not_respond");
  assert.deepEqual({ ...alone, attention: null }, digest);
  const beside = create(SubscriptionDeliverySchema, { attempt: 2, digest: summary, attention, message: { id: "b", ...notify } });
  assert.deepEqual(digestBy(beside), digest);
  assert.equal(receivedBy(create(SubscriptionDeliverySchema, {})).length, 0);
});
