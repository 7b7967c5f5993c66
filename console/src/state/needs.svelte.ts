import { get } from "../client/client.ts";
import { Away, Refused } from "../client/refusal.ts";
import type { Concern, Concerns, Message } from "../client/types.ts";
import { connection } from "./connection.svelte.ts";
import { known } from "./known.svelte.ts";
import { live } from "./live.svelte.ts";
import { Pace } from "./pace.ts";

/** How many concerns the page asks for, and in how many pages of the server's at most. */
const most = 100;
const mostPages = 10;

/** How many requests are read before the page shows what is about them, so that nothing moves when they come. */
const readFirst = 20;

/** Needs is what needs the one who is signed in, for the page of that name and for the number in the title. */
class Needs {
  list = $state.raw<Concern[]>();
  /** True if there are more than the list has. */
  more = $state(false);
  refused = $state.raw<Refused>();

  /** What a click of the reader has dealt with, and the server has not said yet. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());
  shown = $derived((this.list ?? []).filter((concern) => !this.hidden.has(concern.id)));

  /** How many requests have come to the reader since nobody looks at the page, which then asks for nothing. */
  unseen = $state(0);
  /** How much needs the reader, in the few signs that a title or an icon has room for; empty for nothing. */
  number = $derived.by(() => {
    const number = this.shown.length + this.unseen;
    return number === 0 ? "" : `${number}${this.more ? "+" : ""}`;
  });

  #dealtWith = new Set<string>();
  #pace = new Pace(() => void this.#ask());

  /** begin asks at once, and again whenever something has reached the agent, until the returned function is called. */
  begin(reader: string): () => void {
    const unlisten = live.listen((name, data) => {
      this.#pace.want();
      if (document.visibilityState === "hidden" && asks(reader, name, data)) {
        this.unseen++;
      }
    });
    const seen = () => {
      this.unseen = 0;
      this.#pace.look(document.visibilityState === "visible");
    };
    document.addEventListener("visibilitychange", seen);
    seen();
    this.#pace.begin();
    return () => {
      unlisten();
      document.removeEventListener("visibilitychange", seen);
      this.#pace.end();
      this.list = undefined;
      this.unseen = 0;
      this.refused = undefined;
      this.hidden = new Set();
      this.#dealtWith.clear();
    };
  }

  /** again asks as soon as it may, because something was done. */
  again(): void {
    this.#pace.want();
  }

  hide(ids: Iterable<string>): void {
    this.hidden = new Set([...this.hidden, ...ids]);
  }

  /** dealtWith says that something was done about concerns; what is still one when the server has been asked again comes back. */
  dealtWith(ids: Iterable<string>): void {
    this.hide(ids);
    for (const id of ids) {
      this.#dealtWith.add(id);
    }
    this.again();
  }

  show(ids: Iterable<string>): void {
    const rest = new Set(this.hidden);
    for (const id of ids) {
      rest.delete(id);
    }
    this.hidden = rest;
  }

  async #ask(): Promise<void> {
    const dealtWith = [...this.#dealtWith];
    try {
      const { concerns, next_cursor } = await listConcerns();
      await known.messages.load(concerns.flatMap((concern) => requestIdOf(concern) ?? []).slice(0, readFirst));
      this.list = concerns;
      this.more = next_cursor !== null;
      this.refused = undefined;
      dealtWith.forEach((id) => this.#dealtWith.delete(id));
      this.show(dealtWith);
    } catch (failure) {
      if (failure instanceof Refused) {
        this.refused = failure;
      } else if (!(failure instanceof Away)) {
        throw failure;
      }
    }
  }
}

/** requestOf returns the request that a concern is about and that the reader may see, as soon as it is known. */
export function requestOf(concern: Concern): Message | undefined {
  const id = requestIdOf(concern);
  return id === undefined ? undefined : known.messages.get(id);
}

/** requestIdOf returns the id of the request that the page shows with a concern. What nobody hears is told in the concern's own sentence. */
function requestIdOf(concern: Concern): string | undefined {
  return concern.kind === "unreachable" ? undefined : (concern.message_id ?? undefined);
}

/** listConcerns goes on as long as pages are not full: the server looks at so much for one page, and may find little in it. */
async function listConcerns(): Promise<Concerns> {
  const found: Concern[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < mostPages && found.length < most && (pages === 0 || cursor !== null); pages++) {
    const page: Concerns = await get<Concerns>("v1/concerns", { limit: most - found.length, cursor: cursor ?? undefined });
    found.push(...page.concerns);
    cursor = page.next_cursor;
  }
  return { concerns: found, next_cursor: cursor };
}

/** asks reports whether an event is a request to somebody. */
function asks(reader: string, name: string, data: string): boolean {
  if (name !== "channel_message") {
    return false;
  }
  const message = JSON.parse(data) as Message;
  return message.message_type === "request" && message.to === reader;
}

export const needs = new Needs();

/** again asks anew what the server was away for. */
export function askWhenBack(): void {
  $effect(() => {
    if (connection.returns > 0) {
      needs.again();
    }
  });
}
