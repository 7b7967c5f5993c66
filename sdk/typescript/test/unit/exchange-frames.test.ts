import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { ExchangeRequestSchema, ExchangeResponseSchema, NumberedRequestSchema } from "../../src/generated/openintent/v1/exchange_pb.js";
import { MessageSchema, SendMessageRequestSchema } from "../../src/generated/openintent/v1/messages_pb.js";
import { framesOf, readAnswers, type Numbered, type TakeAnswer } from "../../src/grpc/exchange/frames.js";
import { FrameReader } from "../../src/grpc/framing.js";

function send(number: number, text = "hello"): Numbered {
  const bytes = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { channelId: `c${number}`, payload: { text } }));
  return { number, field: NumberedRequestSchema.field.send.number, bytes };
}

/** What the generated code reads in frames: of each the numbers and channels of its requests, and the cancelled numbers. */
function read(frames: Buffer): [string[], number[]][] {
  const found: [string[], number[]][] = [];
  for (let at = 0; at < frames.length; ) {
    assert.equal(frames[at], 0);
    const end = at + 5 + frames.readUInt32BE(at + 1);
    const { requests, cancelled } = fromBinary(ExchangeRequestSchema, frames.subarray(at + 5, end));
    const said = requests.map(({ number, request }) => `${number} ${request.case} ${request.case === "send" ? request.value.channelId : ""}`);
    found.push([said, cancelled.map(Number)]);
    at = end;
  }
  return found;
}

test("frames are what the generated code reads", () => {
  const large = send(2 ** 40, "x".repeat(20_000));
  assert.deepEqual(read(framesOf([send(1), send(127), send(128), large], [3, 300, 2 ** 33])), [
    [["1 send c1", "127 send c127", "128 send c128", `${2 ** 40} send c${2 ** 40}`], [3, 300, 2 ** 33]],
  ]);
});

test("a frame has at most 64 requests, and at most 64 cancelled numbers", () => {
  const many = Array.from({ length: 130 }, (_, i) => send(i + 1));
  const sizes = (frames: Buffer): [number, number][] => read(frames).map(([requests, cancelled]) => [requests.length, cancelled.length]);
  assert.deepEqual(sizes(framesOf(many, [1])), [[64, 1], [64, 0], [2, 0]]);
  assert.deepEqual(sizes(framesOf([], many.slice(0, 65).map(({ number }) => number))), [[0, 64], [0, 1]]);
});

const answers = (take: TakeAnswer): FrameReader => new FrameReader((message) => readAnswers(message, take));

function response(numbers: number[]): Buffer {
  const given = numbers.map((number) => ({
    number: BigInt(number),
    answer: { case: "message" as const, value: { id: `m${number}`, payload: { text: "x".repeat(number % 1000) } } },
  }));
  const bytes = toBinary(ExchangeResponseSchema, create(ExchangeResponseSchema, { answers: given }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

test("answers are read however their frames are cut", () => {
  const whole = Buffer.concat([response([1, 2, 300]), response([]), response([2 ** 40]), response([5])]);
  for (let size = 1; size <= whole.length; size++) {
    const found: string[] = [];
    const reader = answers((number, field, bytes) => found.push(`${number} ${field} ${fromBinary(MessageSchema, bytes).id}`));
    for (let at = 0; at < whole.length; at += size) {
      reader.add(whole.subarray(at, at + size));
    }
    assert.deepEqual(found, ["1 2 m1", "2 2 m2", "300 2 m300", `${2 ** 40} 2 m${2 ** 40}`, "5 2 m5"]);
  }
});

test("fields that only a newer server knows are left out, and what is compressed is refused", () => {
  const answer = new BinaryWriter().tag(90, 0).int32(1).tag(1, 0).int64(7).tag(2, 2).bytes(new Uint8Array()).finish();
  const bytes = new BinaryWriter().tag(91, 2).string("new").tag(1, 2).bytes(answer).finish();
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]);
  const found: number[] = [];
  answers((number) => found.push(number)).add(frame);
  assert.deepEqual(found, [7]);
  frame[0] = 1;
  assert.throws(() => answers(() => {}).add(frame), /compressed/);
});
