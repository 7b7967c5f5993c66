/** One thing that a stream of server-sent events says. */
export type Said =
  | { kind: "event"; name: string; data: string; id: string }
  /** The place in the stream, without an event. */
  | { kind: "place"; id: string }
  | { kind: "comment"; text: string }
  /** How many milliseconds to wait before coming back. */
  | { kind: "retry"; milliseconds: number };

/** EventReader reads a stream of server-sent events piece by piece. */
export class EventReader {
  #rest = "";
  #name = "";
  #data: string[] = [];
  #id = "";
  #idGiven = false;

  /** The last id that the stream gave; empty before the first one. */
  get lastId(): string {
    return this.#id;
  }

  constructor(lastId = "") {
    this.#id = lastId;
  }

  /** push takes the next piece of the stream and returns what is complete. */
  push(piece: string): Said[] {
    const said: Said[] = [];
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#take(line.endsWith("\r") ? line.slice(0, -1) : line, said);
    }
    return said;
  }

  #take(line: string, said: Said[]): void {
    if (line === "") {
      this.#dispatch(said);
      return;
    }
    if (line.startsWith(":")) {
      said.push({ kind: "comment", text: line.slice(1).trim() });
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    switch (field) {
      case "event":
        this.#name = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      case "id":
        this.#id = value;
        this.#idGiven = true;
        break;
      case "retry":
        if (/^\d+$/.test(value)) {
          said.push({ kind: "retry", milliseconds: Number(value) });
        }
        break;
    }
  }

  #dispatch(said: Said[]): void {
    if (this.#data.length > 0) {
      said.push({ kind: "event", name: this.#name || "message", data: this.#data.join("\n"), id: this.#id });
    } else if (this.#idGiven) {
      said.push({ kind: "place", id: this.#id });
    }
    this.#name = "";
    this.#data = [];
    this.#idGiven = false;
  }
}
