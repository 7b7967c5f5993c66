import { address, credentials, heardFrom, refusalOf, signedOut } from "./client.ts";
import { EventReader, type Said } from "./events.ts";
import { elapsed, pauseBefore } from "./pause.ts";
import { Away, Refused } from "./refusal.ts";
import { Rest } from "./rest.ts";

/** What somebody who follows a stream is told. */
export interface Follower {
  /** A new connection stands. The place is where it begins, which may have passed what came meanwhile if `again` is false. */
  begun?(again: boolean): void;
  /** The stream says where it is, without an event; the first time, that is where it begins. */
  place?(id: string): void;
  /** An event has come. */
  event(name: string, data: string, id: string): void;
  /** Everything that was stored before the connection began has come. */
  caughtUp?(): void;
  /** The connection has ended, and a new one is tried. */
  lost?(): void;
  /** The stream is over: it was refused for good, or what it follows has ended. */
  ended?(why: Refused | undefined): void;
}

export interface FollowOptions {
  query?: Record<string, string>;
  /** Go on after this place; without it the stream begins with what comes now. */
  after?: string;
  signal: AbortSignal;
  /** True for the stream that goes on in one of the tabs that nobody sees. */
  keepsWatch?: boolean;
}

/** The server says something at least every 15 seconds. A connection that is silent for longer than this is taken for dead. */
const silence = 40_000;

/** follow reads a stream until the signal aborts or the stream ends for good, and comes back after each break with the last place. */
export async function follow(path: string, options: FollowOptions, follower: Follower): Promise<void> {
  let place = options.after ?? "";
  let attempt = 0;
  let again = false;
  const rest = new Rest(options.keepsWatch ?? false);
  while (!options.signal.aborted) {
    const lease = await rest.lease(options.signal);
    const connection: Connection = new Connection(path, options, place, follower, again);
    const end = await connection.read(lease.signal);
    const rested = lease.signal.aborted;
    lease.end();
    again ||= connection.begun;
    place = connection.place;
    if (options.signal.aborted) {
      return;
    }
    if (rested) {
      continue;
    }
    if (end.over) {
      if (end.why?.status === 401) {
        signedOut();
      }
      follower.ended?.(end.why);
      return;
    }
    attempt = connection.begun ? 1 : attempt + 1;
    follower.lost?.();
    await elapsed(end.pause ?? pauseBefore(attempt, Math.random()), options.signal);
  }
}

/** How one connection of a stream ended. */
interface End {
  /** True if nobody should come back. */
  over: boolean;
  why?: Refused | undefined;
  pause?: number | undefined;
}

/** Connection is one connection of a stream. */
class Connection {
  begun = false;
  readonly #reader: EventReader;
  #end: End = { over: false };

  constructor(
    readonly path: string,
    readonly options: FollowOptions,
    place: string,
    readonly follower: Follower,
    readonly again: boolean,
  ) {
    this.#reader = new EventReader(place);
  }

  get place(): string {
    return this.#reader.lastId;
  }

  /** read reads until the connection ends, or until the signal aborts. */
  async read(signal: AbortSignal): Promise<End> {
    const patience = new AbortController();
    const give = () => patience.abort();
    if (signal.aborted) {
      return this.#end;
    }
    signal.addEventListener("abort", give);
    let timer = setTimeout(give, silence);
    try {
      const headers: Record<string, string> = { ...credentials(), Accept: "text/event-stream" };
      if (this.place !== "") {
        headers["Last-Event-ID"] = this.place;
      }
      const response = await fetch(address(this.path, this.options.query), { headers, signal: patience.signal, cache: "no-store" });
      if (!response.ok || response.body === null) {
        throw await refusalOf(response);
      }
      this.begun = true;
      heardFrom(true);
      this.follower.begun?.(this.again);
      const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await text.read();
        if (done) {
          return this.#end;
        }
        clearTimeout(timer);
        timer = setTimeout(give, silence);
        this.#reader.push(value).forEach((said) => this.#take(said));
      }
    } catch (failure) {
      return failure instanceof Refused ? this.#refused(failure) : this.#broken(failure, signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", give);
      patience.abort();
    }
  }

  #take(said: Said): void {
    switch (said.kind) {
      case "comment":
        if (said.text === "caught up") {
          this.follower.caughtUp?.();
        }
        return;
      case "retry":
        this.#end.pause = said.milliseconds;
        return;
      case "place":
        this.follower.place?.(said.id);
        return;
      case "event":
        if (said.name === "channel_closed") {
          this.#end = { over: true };
        } else if (said.name === "error") {
          this.#end = { ...this.#end, ...endOf(said.data) };
          return;
        }
        this.follower.event(said.name, said.data, said.id);
    }
  }

  #refused(failure: Refused): End {
    return failure.status === 429 ? { over: false, pause: (failure.retryAfter ?? 5) * 1000 } : { over: true, why: failure };
  }

  #broken(failure: unknown, signal: AbortSignal): End {
    if (!signal.aborted && (failure instanceof Away || !this.begun)) {
      heardFrom(false);
    }
    return this.#end;
  }
}

/** endOf reads the problem with which a stream ends. A server that stops says so, and others may be there; all else is final. */
function endOf(data: string): End {
  try {
    const problem = JSON.parse(data) as { status: number; reason: string; detail: string };
    return problem.status === 503 ? { over: false } : { over: true, why: new Refused(problem.status, problem.reason, problem.detail, problem as never) };
  } catch {
    return { over: false };
  }
}
