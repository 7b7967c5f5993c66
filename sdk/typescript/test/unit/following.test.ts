import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFrom, PermissionDeniedError, UnavailableError } from "../../src/errors.js";
import type { Client } from "../../src/client.js";
import type { Followed, FollowAttempt } from "../../src/transport.js";
import { fakeClient, FakeClock, followed, lost, serverName } from "./fakes.js";

const closed = errorFrom({ code: "FAILED_PRECONDITION", reason: "CHANNEL_CLOSED", message: "closed" });

/** A client whose streams bring the given parts, one stream after the other; `asked` keeps the positions they began at. */
function streaming(streams: (Followed | Error)[][], asked: (number | undefined)[] = [], clock = new FakeClock()): Client {
  return fakeClient(
    {
      async *follow(_, after, _include, attempt) {
        asked.push(after);
        attempt.accepted(after ?? 10);
        for (const item of streams[asked.length - 1] ?? [new Error("one stream too many")]) {
          if (item instanceof Error) {
            throw item;
          }
          yield item;
        }
        await hang(attempt);
      },
    },
    clock,
  );
}

function hang({ signal }: FollowAttempt): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

async function ids(messages: AsyncIterable<{ id: string }>): Promise<string[]> {
  const came = [];
  for await (const { id } of messages) {
    came.push(id);
  }
  return came;
}

test("it goes on where it was after a lost connection, yields nothing twice, and ends when the channel closes", async () => {
  const asked: (number | undefined)[] = [];
  const clock = new FakeClock();
  const client = streaming(
    [
      [lost()],
      [followed(11, "a"), { position: 12, message: null }, lost()],
      [lost()],
      [followed(12, "old"), followed(12, "a"), followed(13, "b"), followed(13, "b"), closed],
    ],
    asked,
    clock,
  );
  assert.deepEqual(await ids(client.follow("chan_1")), ["a", "old", "b"]);
  assert.deepEqual(asked, [undefined, 10, 12, 12]);
  assert.deepEqual(clock.waits, [75, 75, 150], "what came in between makes the waits short again");
});

test("own messages are left out on request", async () => {
  const items = [followed(1, "a", { sender: "asker" }), followed(2, "b"), closed];
  assert.deepEqual(await ids(streaming([items]).follow("chan_1", { includeOwn: false })), ["b"]);
  assert.deepEqual(await ids(streaming([items]).follow("chan_1")), ["a", "b"]);
});

test("other failures end it with their error", async () => {
  const denied = errorFrom({ code: "PERMISSION_DENIED", message: "no" });
  const messages = streaming([[followed(1, "a"), denied]]).follow("chan_1");
  assert.equal((await messages.next()).value?.id, "a");
  await assert.rejects(messages.next(), PermissionDeniedError);
  assert.equal((await messages.next()).done, true);
});

test("started returns once the server has accepted, or throws why it did not", async () => {
  const messages = streaming([[followed(11, "a"), closed]]).follow("chan_1");
  await messages.started();
  assert.equal(messages.position! >= 10, true);
  assert.deepEqual(await ids(messages), ["a"]);
  const refusing = fakeClient({
    async *follow() {
      throw errorFrom({ code: "NOT_FOUND", reason: "CHANNEL_NOT_FOUND", message: "no" });
    },
  });
  await assert.rejects(refusing.follow("chan_1").started(), { reason: "CHANNEL_NOT_FOUND" });
});

test("leaving ends what waits; a signal throws its reason", async () => {
  const messages = streaming([[]], [], new FakeClock()).follow("chan_1");
  const waiting = messages.next();
  await messages.return();
  assert.equal((await waiting).done, true);

  const controller = new AbortController();
  const signalled = streaming([[]]).follow("chan_1", { signal: controller.signal });
  await signalled.started();
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(signalled.next(), (error) => error === reason);
});

test("a timeout bounds the whole following", async () => {
  const clock = new FakeClock();
  await assert.rejects(ids(streaming([[followed(1, "a")]], [], clock).follow("chan_1", { timeout: 60 })), {
    code: "DEADLINE_EXCEEDED",
  });
  assert.equal(clock.time, 60_000);
});

test("a timeout that passes while the server is away says so", async () => {
  const client = fakeClient({
    async *follow() {
      throw lost();
    },
  });
  await assert.rejects(ids(client.follow("chan_1", { timeout: 60 })), {
    constructor: UnavailableError,
    message: `The server at ${serverName} did not answer within 60 s: lost`,
  });
});
