/** The parts of an intent's page, each of which is read on its own. */
export type Part = "intent" | "channels" | "members" | "tasks" | "leases" | "events";

/** Whatever an event of an intent's log is about, by the beginning of its type. What is not here may have changed everything. */
const about: [RegExp, Part[]][] = [
  [/^channel_message$/, ["channels"]],
  [/^channel/, ["channels", "events"]],
  [/^task/, ["tasks", "events"]],
  [/^lease/, ["leases", "events"]],
  [/^(agent|coordinator|access)/, ["members", "events"]],
  [/^(state|status|intent)/, ["intent", "channels", "events"]],
];

const all: readonly Part[] = ["intent", "channels", "members", "tasks", "leases", "events"];

/** partsOf lists what an event of an intent's stream makes out of date. */
export function partsOf(event: string): readonly Part[] {
  return about.find(([type]) => type.test(event))?.[1] ?? all;
}

/** How long news gather before they are read, and how long at least between two readings, in milliseconds. */
const gathering = 200;
const apart = 2000;

/** News gathers what is out of date, and says from time to time what to read again: soon, but not with each event of a busy intent. */
export class News {
  #stale = new Set<Part>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #read = -Infinity;

  constructor(
    readonly refresh: (parts: ReadonlySet<Part>) => void,
    readonly now: () => number = () => performance.now(),
  ) {}

  add(parts: readonly Part[]): void {
    parts.forEach((part) => this.#stale.add(part));
    this.#timer ??= setTimeout(() => this.#tell(), Math.max(gathering, this.#read + apart - this.now()));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tell(): void {
    const stale = this.#stale;
    this.#stale = new Set();
    this.#timer = undefined;
    this.#read = this.now();
    this.refresh(stale);
  }
}
