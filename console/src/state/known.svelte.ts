import { SvelteMap } from "svelte/reactivity";

import { get, part } from "../client/client.ts";
import { getMessage } from "../client/messages.ts";
import type { Channel, Intent, Message } from "../client/types.ts";

/** How many things are read at a time. */
const atOnce = 4;

/** Lookup reads things by id when somebody shows them, each once, and a few at a time. What cannot be read stays unknown. */
class Lookup<T> {
  #found = new SvelteMap<string, T>();
  #asked = new Set<string>();
  #waiting: string[] = [];
  #running = 0;

  constructor(readonly read: (id: string) => Promise<T>) {}

  /** get returns what is known of an id now, and begins to read it. */
  get(id: string): T | undefined {
    if (!this.#asked.has(id)) {
      this.#asked.add(id);
      this.#waiting.push(id);
      queueMicrotask(() => this.#next());
    }
    return this.#found.get(id);
  }

  #next(): void {
    while (this.#running < atOnce) {
      const id = this.#waiting.shift();
      if (id === undefined) {
        return;
      }
      this.#running++;
      void this.#read(id);
    }
  }

  async #read(id: string): Promise<void> {
    try {
      this.#found.set(id, await this.read(id));
    } catch {
      // The page shows the id then. A server that is away is asked again when the page is opened again.
      this.#asked.delete(id);
    }
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
