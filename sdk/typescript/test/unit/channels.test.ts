import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelNameTakenError, errorFrom, UnavailableError } from "../../src/errors.js";
import { ChannelHandle } from "../../src/handle.js";
import type { Channel } from "../../src/types.js";
import { channel, fakeClient, FakeClock, lost } from "./fakes.js";

const taken = errorFrom({ code: "ALREADY_EXISTS", reason: "CHANNEL_NAME_TAKEN", message: "taken" });

test("open gets the open channel of the name, not a closed one or another", async () => {
  const client = fakeClient({
    listChannels: async () => [
      channel("other"),
      channel("talk", { id: "chan_2" }),
      channel("talk", { id: "chan_0", status: "closed" }),
    ],
  });
  assert.equal((await client.channels.open("talk", "intent")).id, "chan_2");
});

test("a channel is got by its id, as a handle", async () => {
  const find = async (id: string): Promise<Channel> => channel("talk", { id });
  const client = fakeClient({ getChannel: find, closeChannel: find });
  const handle = await client.channels.get("chan_7");
  assert.ok(handle instanceof ChannelHandle);
  assert.equal((await handle.close()).id, "chan_7");
});

test("open and create keep their deadline while the server is away, whatever they do", async () => {
  for (const timeout of [undefined, 3]) {
    const clock = new FakeClock();
    const away = async (): Promise<never> => {
      throw lost();
    };
    const nothing = async (): Promise<Channel[]> => [];
    for (const client of [
      fakeClient({ listChannels: away }, clock),
      fakeClient({ listChannels: nothing, createChannel: away }, clock),
    ]) {
      const begun = clock.time;
      await assert.rejects(client.channels.open("talk", "intent", { timeout }), UnavailableError);
      assert.ok(clock.time - begun <= 1_000 * (timeout ?? 30), String(clock.time - begun));
    }
  }
});

test("two callers that open at once both get the same channel", async () => {
  const made: Channel[] = [];
  let looks = 0;
  const client = fakeClient({
    listChannels: async () => (looks++ === 0 ? [] : made),
    async createChannel() {
      made.push(channel("talk", { id: "chan_theirs", createdBy: "another" }));
      throw taken;
    },
  });
  assert.equal((await client.channels.open("talk", "intent")).id, "chan_theirs");
});

test("a channel is found again when the answer to its creation was lost, but not another's channel", async () => {
  const create = async (there: Channel): Promise<Channel> => {
    let calls = 0;
    return fakeClient({
      async createChannel() {
        throw calls++ === 0 ? lost() : taken;
      },
      listChannels: async () => [there],
    }).createChannel("intent", "talk", { members: ["a"], memberPolicy: "explicit", options: { audit: true } });
  };
  const options = { audit: true, ttlSeconds: null, maxMessages: 1000, history: "all" as const, turnBudget: 20, conversationBudget: null };
  const ours = channel("talk", { members: ["a"], memberPolicy: "explicit", options });
  assert.equal((await create(ours)).id, ours.id);
  for (const theirs of [{ address: "VK47" }, { createdBy: "another" }, { members: ["b"] }, { options: { ...options, audit: false } }]) {
    await assert.rejects(create({ ...ours, ...theirs }), ChannelNameTakenError);
  }
});

test("a name that is taken at once is refused", async () => {
  const client = fakeClient({
    async createChannel() {
      throw taken;
    },
  });
  await assert.rejects(client.createChannel("intent", "talk"), ChannelNameTakenError);
});

test("an intent's status is set on its current version, and a lost answer is looked for", async () => {
  const statuses = ["draft", "draft", "completed"] as const;
  const versions: number[] = [];
  let looks = 0;
  const intent = (): any => ({ id: "intent", status: statuses[looks], version: 7 + looks++ });
  const client = fakeClient({
    getIntent: async () => intent(),
    async setIntentStatus(_intent, _status, version) {
      versions.push(version);
      throw versions.length === 1 ? errorFrom({ code: "ABORTED", reason: "VERSION_MISMATCH", message: "" }) : lost();
    },
  });
  assert.equal((await client.intents.setStatus("intent", "completed")).status, "completed");
  assert.deepEqual(versions, [7, 8]);
});
