import { SvelteMap } from "svelte/reactivity";

import { get, part } from "../client/client.ts";
import { getMessage } from "../client/messages.ts";
import type { Channel, Intent, Message } from "../client/types.ts";

/** How many things are read at a time. */
const atOnce = 4;

/** Lookup reads things by id when somebody shows them, each once, and a few at a time. What cannot be read stays unknown. */
class Lookup<T> {
  #found = new SvelteMap<string, T>();
  /** For each id that was asked for, when its reading has ended. */
  #asked = new Map<string, Promise<void>>();
  #waiting: [id: string, ended: () => void][] = [];
  #running = 0;

  constructor(readonly read: (id: string) => Promise<T>) {}

  /** get returns what is known of an id now, and begins to read it. */
  get(id: string): T | undefined {
    void this.#ask(id);
    return this.#found.get(id);
  }

  /** load reads what is not known of some ids, and returns when that has ended, well or not. */
  async load(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#ask(id)));
  }

  #ask(id: string): Promise<void> {
    let reading = this.#asked.get(id);
    if (reading === undefined) {
      reading = new Promise((ended) => this.#waiting.push([id, ended]));
      this.#asked.set(id, reading);
      queueMicrotask(() => this.#next());
    }
    return reading;
  }

  #next(): void {
    while (this.#running < atOnce) {
      const next = this.#waiting.shift();
      if (next === undefined) {
        return;
      }
      this.#running++;
      void this.#read(...next);
    }
  }

  async #read(id: string, ended: () => void): Promise<void> {
    try {
      this.#found.set(id, await this.read(id));
    } catch {
      // The page shows the id then. A server that is away is asked again when the page is opened again.
      this.#asked.delete(id);
    }
    ended();
    this.#running--;
    this.#next();
  }
}

/** What pages know of things that they only mention. */
export const known = {
  intents: new Lookup<Intent>((id) => get(`v1/intents/${part(id)}`)),
  channels: new Lookup<Channel>((id) => get(`v1/channels/${part(id)}`)),
  messages: new Lookup<Message>(async (id) => (await getMessage(id)).body),
};
