import { Code, ConnectError } from "@connectrpc/connect";

/** How many bytes stand before a message of gRPC: whether it is compressed, and how long it is. */
export const prefix = 5;

/** Writes what stands before an uncompressed message. */
export function writePrefix(buffer: Buffer, at: number, length: number): void {
  buffer[at] = 0;
  buffer.writeUInt32BE(length, at + 1);
}

/** A message as gRPC frames it, uncompressed. */
export function framed(message: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(prefix + message.length);
  writePrefix(body, 0, message.length);
  body.set(message, prefix);
  return body;
}

/** Puts the messages of a stream together from the chunks in which they come. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** How many bytes the message that is incomplete needs, with what stands before it; that alone while the rest is not known. */
  #needed = prefix;

  constructor(private readonly take: (message: Uint8Array) => void) {}

  /** Whether what came so far ends with a whole message. */
  get whole(): boolean {
    return this.#length === 0;
  }

  /** Takes a chunk. It throws if a message is compressed. */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) {
      return;
    }
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#length);
    let at = 0;
    this.#needed = prefix;
    while (all.length - at >= prefix) {
      if (all[at] !== 0) {
        throw new ConnectError("The server sent a compressed message, which was not asked for.", Code.Unknown);
      }
      const size = prefix + all.readUInt32BE(at + 1);
      if (all.length - at < size) {
        this.#needed = size;
        break;
      }
      this.take(all.subarray(at + prefix, at + size));
      at += size;
    }
    this.#length = all.length - at;
    this.#chunks = this.#length === 0 ? [] : [all.subarray(at)];
  }
}
