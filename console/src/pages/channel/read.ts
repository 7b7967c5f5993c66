import { markRead } from "../../client/messages.ts";
import { Away, Refused } from "../../client/refusal.ts";
import type { Message } from "../../client/types.ts";

/** How long a message must be in view to count as read, and how long marks gather, in milliseconds. */
const readingTakes = 1000;

/**
 * isFor reports whether a message that has just come is for a reader, who then marks it read. To mark a message changes what becomes of it, so
 * whoever only watches, as the operator does, leaves it alone.
 */
export function isFor(reader: string, message: Message): boolean {
  const everyone = message.to === null || message.to === "*";
  return message.sender !== reader && (message.to === reader || (everyone && reader !== "operator"));
}

/** ReadMarks tells the server what a person has read: what was in view for a second while the window had the focus. */
export class ReadMarks {
  #inView = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly reader: string,
    /** What the reader has not read; marks are taken out of it. */
    readonly unread: Set<string>,
    readonly readOnly: boolean,
  ) {}

  /** begin looks at the window's focus until the returned function is called. */
  begin(): () => void {
    const restart = () => this.#restart();
    window.addEventListener("focus", restart);
    window.addEventListener("blur", restart);
    return () => {
      window.removeEventListener("focus", restart);
      window.removeEventListener("blur", restart);
      clearTimeout(this.#timer);
    };
  }

  /** inView says which messages can be seen now. */
  inView(ids: readonly string[]): void {
    if (this.readOnly) {
      return;
    }
    const now = performance.now();
    this.#inView = new Map(ids.filter((id) => this.unread.has(id)).map((id) => [id, this.#inView.get(id) ?? now]));
    this.#plan();
  }

  #restart(): void {
    const now = performance.now();
    this.#inView.forEach((_, id) => this.#inView.set(id, now));
    this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#inView.size > 0 && document.hasFocus()) {
      this.#timer = setTimeout(() => void this.#mark(), readingTakes);
    }
  }

  async #mark(): Promise<void> {
    const now = performance.now();
    const ids = [...this.#inView].filter(([, since]) => now - since >= readingTakes * 0.9).map(([id]) => id);
    ids.forEach((id) => {
      this.unread.delete(id);
      this.#inView.delete(id);
    });
    this.#plan();
    if (ids.length === 0) {
      return;
    }
    try {
      await markRead(this.reader, ids);
    } catch (failure) {
      if (failure instanceof Away) {
        ids.forEach((id) => this.unread.add(id));
      } else if (!(failure instanceof Refused)) {
        throw failure;
      }
      // What may not be marked, such as an expired message, is not unread for anybody.
    }
  }
}
