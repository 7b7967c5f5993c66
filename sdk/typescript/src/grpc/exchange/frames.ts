import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ExchangeRequestSchema, ExchangeResponseSchema, NumberedAnswerSchema, NumberedRequestSchema } from "../../generated/openintent/v1/exchange_pb.js";
import { prefix, writePrefix } from "../framing.js";

// The frames of an exchange are written and read here field by field. What they carry, a request or an answer, is bytes that the generated
// code makes and reads. The generated code for the frames would look at each of these twice.

/** A request as it goes on a stream. */
export interface Numbered {
  readonly number: number;
  /** The field of NumberedRequest that it stands in. */
  readonly field: number;
  readonly bytes: Uint8Array;
}

/** How many requests, and how many numbers of cancelled ones, a frame has at most. */
const mostTogether = 64;
const requestsField = ExchangeRequestSchema.field.requests.number;
const cancelledField = ExchangeRequestSchema.field.cancelled.number;
const requestNumberField = NumberedRequestSchema.field.number.number;
const answersField = ExchangeResponseSchema.field.answers.number;
const answerNumberField = NumberedAnswerSchema.field.number.number;

/** Writes requests and the numbers of cancelled ones as frames, one after the other, of which each is as full as can be. */
export function framesOf(requests: readonly Numbered[], cancelled: readonly number[]): Buffer {
  const frames = Math.max(Math.ceil(requests.length / mostTogether), Math.ceil(cancelled.length / mostTogether));
  const most = requests.reduce((sum, { bytes }) => sum + bytes.length + 40, frames * prefix + cancelled.length * 12);
  const buffer = Buffer.allocUnsafe(most);
  let at = 0;
  for (let from = 0; from < frames * mostTogether; from += mostTogether) {
    const begin = at;
    at += prefix;
    for (const request of requests.slice(from, from + mostTogether)) {
      at = writeRequest(buffer, at, request);
    }
    for (const number of cancelled.slice(from, from + mostTogether)) {
      at = writeTag(buffer, at, cancelledField, WireType.Varint);
      at = writeVarint(buffer, at, number);
    }
    writePrefix(buffer, begin, at - begin - prefix);
  }
  return buffer.subarray(0, at);
}

function writeRequest(buffer: Buffer, start: number, { number, field, bytes }: Numbered): number {
  const inner = tagSize(requestNumberField) + varintSize(number) + tagSize(field) + varintSize(bytes.length) + bytes.length;
  let at = writeTag(buffer, start, requestsField, WireType.LengthDelimited);
  at = writeVarint(buffer, at, inner);
  at = writeTag(buffer, at, requestNumberField, WireType.Varint);
  at = writeVarint(buffer, at, number);
  at = writeTag(buffer, at, field, WireType.LengthDelimited);
  at = writeVarint(buffer, at, bytes.length);
  buffer.set(bytes, at);
  return at + bytes.length;
}

function writeTag(buffer: Buffer, at: number, field: number, type: WireType): number {
  return writeVarint(buffer, at, field * 8 + type);
}

function tagSize(field: number): number {
  return varintSize(field * 8);
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    size++;
  }
  return size;
}

function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    buffer[at++] = (rest % 0x80) + 0x80;
  }
  buffer[at++] = rest;
  return at;
}

/** Takes the answer with a number: the field of NumberedAnswer that it stands in, and its bytes. */
export type TakeAnswer = (number: number, field: number, bytes: Uint8Array) => void;

/** Reads the answers of a response. */
export function readAnswers(response: Uint8Array, take: TakeAnswer): void {
  const reader = new BinaryReader(response);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === answersField) {
      readAnswer(reader.bytes(), take);
    } else {
      reader.skip(type, field);
    }
  }
}

function readAnswer(answer: Uint8Array, take: TakeAnswer): void {
  const reader = new BinaryReader(answer);
  let number = 0;
  let found = 0;
  let bytes: Uint8Array = answer.subarray(0, 0);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === answerNumberField) {
      number = Number(reader.int64());
    } else if (type === WireType.LengthDelimited) {
      found = field;
      bytes = reader.bytes();
    } else {
      reader.skip(type, field);
    }
  }
  take(number, found, bytes);
}
