import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelClosedError, PermissionDeniedError, UnavailableError } from "../../src/errors.js";
import { EventReader, type StreamEvent } from "../../src/rest/events.js";
import { readStream } from "../../src/rest/stream.js";
import type { Followed } from "../../src/transport.js";
import { FakeClock } from "./fakes.js";

const stream = [
  "id: 7\n\n",
  ": ping\n\n",
  'id: 8\r\nevent: channel_message\r\ndata: {"a":\r\ndata: 1}\r\n\r\n',
  ": caught up\nid: 9\n\n",
  "retry: 1000\nevent:error\ndata:{}\n\n",
  "data: plain\n\n",
].join("");

const expected: StreamEvent[] = [
  { id: "7", event: "", data: "" },
  { id: "8", event: "channel_message", data: '{"a":\n1}' },
  { id: "9", event: "", data: "" },
  { id: "9", event: "error", data: "{}" },
  { id: "9", event: "message", data: "plain" },
];

test("events are the same, however the stream is cut into pieces", () => {
  for (let size = 1; size <= stream.length; size++) {
    const reader = new EventReader();
    const events = [];
    for (let at = 0; at < stream.length; at += size) {
      events.push(...reader.push(stream.slice(at, at + size)));
    }
    assert.deepEqual(events, expected, `in pieces of ${size}`);
  }
});

/** Reads a stream of this text to its end. */
async function read(text: string, silent = false): Promise<{ came: Followed[]; begun: number | undefined; error: unknown }> {
  const came: Followed[] = [];
  let begun: number | undefined;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (!silent) {
        controller.close();
      }
    },
  });
  const attempt = { signal: new AbortController().signal, accepted: (position: number) => (begun = position) };
  const open = async (signal: AbortSignal): Promise<Response> => {
    signal.addEventListener("abort", () => void body.cancel().catch(() => {}));
    return new Response(body.pipeThrough(new TransformStream(), { signal }));
  };
  try {
    for await (const followed of readStream({ clock: new FakeClock(), server: "here" }, attempt, open)) {
      came.push(followed);
    }
    throw new Error("a stream ends only by throwing");
  } catch (error) {
    return { came, begun, error };
  }
}

test("a stream brings messages with their positions, and says why it ended", async () => {
  const wire = { id: "msg_1", message_type: "notify", intent_id: "i", channel_name: "c", payload: { ok: true } };
  const begin = `id: 4\n\nid: 5\nevent: channel_message\ndata: ${JSON.stringify(wire)}\n\n`;
  const closed = await read(begin + 'event: channel_closed\ndata: {"reason":"channel_closed"}\n\n');
  assert.equal(closed.begun, 4);
  assert.deepEqual(
    closed.came.map(({ position, message }) => [position, message?.id]),
    [
      [4, undefined],
      [5, "msg_1"],
    ],
  );
  assert.deepEqual(closed.came[1]?.message?.payload, { ok: true });
  assert.ok(closed.error instanceof ChannelClosedError);

  const problem = JSON.stringify({ status: 403, code: "PERMISSION_DENIED", reason: "FORBIDDEN", detail: "no" });
  assert.ok((await read(`${begin}event: error\ndata: ${problem}\n\n`)).error instanceof PermissionDeniedError);
  assert.ok((await read(begin)).error instanceof UnavailableError, "cut off");
  assert.ok((await read(begin, true)).error instanceof UnavailableError, "silent");
});
