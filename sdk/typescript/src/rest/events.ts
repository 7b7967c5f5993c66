/** One part of an event stream: an event, the cursor's move, or a comment. */
export interface StreamEvent {
  /** The cursor after it; undefined when the stream has named none yet. */
  readonly id: string | undefined;
  /** The event's name; empty when only the cursor moved. */
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events from text that comes in pieces of any size, as the HTML standard says. */
export class EventReader {
  #rest = "";
  #id: string | undefined;
  #event = "";
  #data: string[] = [];
  #touched = false;

  /** Takes a piece of text and returns the events that it completes. */
  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    this.#rest += text;
    for (;;) {
      const end = /\r\n|\n|\r/.exec(this.#rest);
      // A line feed may still follow a carriage return that came last.
      if (!end || (end[0] === "\r" && end.index === this.#rest.length - 1)) {
        return events;
      }
      const line = this.#rest.slice(0, end.index);
      this.#rest = this.#rest.slice(end.index + end[0].length);
      if (line !== "") {
        this.#take(line);
      } else if (this.#touched) {
        events.push(this.#dispatch());
      }
    }
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    switch (field) {
      case "id":
        this.#id = value;
        break;
      case "event":
        this.#event = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      default:
        return; // A comment, or a field that this reader does not need.
    }
    this.#touched = true;
  }

  #dispatch(): StreamEvent {
    const data = this.#data.join("\n");
    const event = { id: this.#id, event: data === "" ? "" : this.#event || "message", data };
    this.#event = "";
    this.#data = [];
    this.#touched = false;
    return event;
  }
}
