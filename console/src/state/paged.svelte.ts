import type { Listed } from "../client/list.ts";
import { Loading } from "./loading.svelte.ts";
import { notices } from "./notices.svelte.ts";

/** Paged is a list that a page reads in parts: the first by itself, and what follows when somebody wants more. */
export class Paged<T, P extends Listed<T> = Listed<T>> {
  readonly first: Loading<P>;
  /** The parts that follow the first. */
  #rest = $state.raw<T[]>([]);
  #next = $state<string>();
  busy = $state(false);

  constructor(readonly read: (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<P>) {
    this.first = new Loading<P>((signal) => read(undefined, signal));
  }

  get items(): T[] {
    return [...(this.first.value?.items ?? []), ...this.#rest];
  }

  /** True if there is more to read. */
  get more(): boolean {
    return (this.#rest.length > 0 ? this.#next : this.first.value?.next) !== undefined;
  }

  /** again begins anew with the first part. */
  async again(): Promise<void> {
    await this.first.again();
    this.#rest = [];
  }

  /** refresh reads the first part again, unless somebody has read further. */
  refresh(): void {
    if (this.#rest.length === 0) {
      void this.first.again();
    }
  }

  async readMore(): Promise<void> {
    const before = this.first.value;
    this.busy = true;
    await notices.orSay("The list does not go on.", async () => {
      const page = await this.read(this.#rest.length > 0 ? this.#next : before?.next, undefined);
      if (this.first.value === before) {
        this.#rest = [...this.#rest, ...page.items];
        this.#next = page.next;
      }
    });
    this.busy = false;
  }
}
