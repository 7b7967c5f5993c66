/** The newest ids that were added, up to a limit: a bounded memory. */
export class RecentIds {
  readonly #ids = new Set<string>();

  constructor(private readonly limit: number) {}

  /** Adds an id and returns whether it was new. */
  add(id: string): boolean {
    if (this.#ids.has(id)) {
      return false;
    }
    this.#ids.add(id);
    if (this.#ids.size > this.limit) {
      this.#ids.delete(this.#ids.values().next().value!);
    }
    return true;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
