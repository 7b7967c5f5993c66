import { linkedAbort, sleep, type Clock } from "../clock.js";
import { badField } from "../errors.js";

/** How many characters a status note has at most. */
const longest = 200;

/** The least time from one heartbeat to the next, however often the note changes, in milliseconds. */
const pause = 1_000;

/** What an agent says that it is doing, and whether the server has heard it. */
export class StatusNote {
  #text: string | undefined;
  #untold = false;
  #changed = (): void => {};

  /** Says something new; an empty text takes the note away. */
  set(text: string): void {
    const count = [...text].length;
    if (count > longest) {
      throw badField("status_note", `must have at most ${longest} characters, and this one has ${count}`);
    }
    this.#text = text;
    this.#untold = true;
    this.#changed();
  }

  /** The note that the server has not heard. */
  get next(): string | undefined {
    return this.#untold ? this.#text : undefined;
  }

  /** Notes that the server has heard a note, or refuses it. */
  told(text: string | undefined): void {
    if (text === this.#text) {
      this.#untold = false;
    }
  }

  /** Notes that the server has forgotten the note, as it does when the agent registers anew. */
  again(): void {
    this.#untold = this.#text !== undefined;
  }

  /** Waits until the next heartbeat is due: after the interval in milliseconds, or as soon as there is a new note. */
  async untilHeartbeat(clock: Clock, interval: number, signal: AbortSignal): Promise<void> {
    const least = Math.min(pause, interval);
    await sleep(clock, least, signal);
    if (this.#untold) {
      return;
    }
    const rest = linkedAbort(signal);
    this.#changed = () => rest.abort();
    try {
      await sleep(clock, interval - least, rest.signal);
    } catch {
      signal.throwIfAborted();
    } finally {
      this.#changed = () => {};
      rest.release();
    }
  }
}
