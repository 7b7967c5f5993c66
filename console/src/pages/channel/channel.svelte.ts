import { get, part } from "../../client/client.ts";
import { follow } from "../../client/follow.ts";
import { getInbox, getMessage, listMessages } from "../../client/messages.ts";
import { Away, Refused } from "../../client/refusal.ts";
import type { Annotation, Channel, Message, Reaction, StreamedMessage } from "../../client/types.ts";
import { connection } from "../../state/connection.svelte.ts";
import { older } from "./older.ts";
import { isFor } from "./read.ts";
import { rowsOf, type Row } from "./rows.ts";
import { Timeline, type SeenClaim } from "./timeline.ts";

/** How many messages the page begins with, and how many it takes at a time when the reader goes back. */
const firstPage = 100;
const nextPage = 300;

/** How many messages the page keeps while its reader is at the end. */
const most = 5000;

/** How many pages of the reader's inbox the page looks through for what is new here. */
const inboxPages = 10;

/** How far back in the intent's log the page looks for what happened to messages. */
const annotationsBack = 50_000;

/** The annotations that change how a message looks. */
const annotationTypes = "message_reaction,message_claimed,claim_released,message_edited,message_deleted";

/** ChannelView is what one channel's page shows, kept up to date. */
export class ChannelView {
  channel = $state.raw<Channel>();
  refused = $state.raw<Refused>();
  rows = $state.raw<Row[]>([]);
  /** True once the newest messages are there. */
  loaded = $state(false);
  /** True if the first row is the first message that is kept. */
  beginning = $state(false);
  /** The newest message that has come while the page was open. */
  newest = $state.raw<string>();

  /** What the reader has not read, as far as the inbox says; and what that was when the page was opened. */
  readonly unread = new Set<string>();
  #unreadAtFirst: ReadonlySet<string> = new Set();

  readonly #timeline = new Timeline();
  /** Changes with each change of the timeline, so that what is computed of it is computed anew. */
  #version = $state(0);
  #planned = false;
  #end = new AbortController();
  #goingBack: Promise<void> | undefined;
  #atEnd = true;

  constructor(
    readonly id: string,
    readonly reader: string,
  ) {}

  /** begin reads and follows the channel until the returned function is called. */
  begin(): () => void {
    void this.#open();
    return () => this.#end.abort();
  }

  message(id: string): Message | undefined {
    void this.#version;
    return this.#timeline.get(id);
  }

  answers(id: string): readonly Message[] {
    void this.#version;
    return this.#timeline.answers.get(id) ?? [];
  }

  reactions(id: string): readonly Reaction[] {
    void this.#version;
    return this.#timeline.reactions.get(id) ?? [];
  }

  claims(id: string): readonly SeenClaim[] {
    void this.#version;
    return this.#timeline.claims.get(id) ?? [];
  }

  /** How many messages of a thread, without its first one, the page has. */
  repliesTo(id: string): number {
    void this.#version;
    return this.#timeline.replies.get(id) ?? 0;
  }

  /** take takes what the reader has just sent, before the stream brings it. */
  take(message: Message): void {
    if (this.#timeline.add([message])) {
      this.newest = message.id;
    }
    this.#changed();
  }

  /** replace takes a message as the server has just answered with it. */
  replace(message: Message): void {
    this.#timeline.replace(message);
    this.#changed();
  }

  /** readMessage reads a message anew, because it was changed. */
  readMessage(id: string): Promise<void> {
    return this.#untilAnswered(async () => this.replace((await getMessage(id, this.#end.signal)).body), false);
  }

  /** setReactions takes the reactions that the server has answered with. */
  setReactions(id: string, reactions: Reaction[]): void {
    this.#timeline.reactions.set(id, reactions);
    this.#changed();
  }

  setClaims(id: string, claims: SeenClaim[]): void {
    this.#timeline.claims.set(id, claims);
    this.#changed();
  }

  /** atEnd says whether the reader looks at the end; then old messages may go. */
  set atEnd(value: boolean) {
    this.#atEnd = value;
  }

  /** goBack reads messages before the first one. */
  goBack(): Promise<void> {
    this.#goingBack ??= this.#readOlder().finally(() => (this.#goingBack = undefined));
    return this.#goingBack;
  }

  /** goBackTo reads older messages until one is there, and reports whether it is. */
  async goBackTo(message: Message): Promise<boolean> {
    while (!this.beginning && this.#timeline.get(message.id) === undefined && !this.#end.signal.aborted) {
      const first = this.#timeline.messages[0];
      if (first === undefined || first.created_at <= message.created_at || this.#timeline.messages.length >= most) {
        break;
      }
      await this.goBack();
    }
    return this.#timeline.get(message.id) !== undefined;
  }

  /** readAgain reads the channel's own record, because it was changed. */
  async readAgain(): Promise<void> {
    this.channel = await get<Channel>(`v1/channels/${part(this.id)}`, undefined, this.#end.signal);
  }

  async #open(): Promise<void> {
    await this.#untilAnswered(() => this.readAgain());
    if (this.refused || this.#end.signal.aborted) {
      return;
    }
    let place: string | undefined;
    await follow(
      `v1/subscribe/channels/${part(this.id)}`,
      { query: { include: "annotations" }, signal: this.#end.signal },
      {
        begun: (again) => void (again || this.#loadNewest()),
        place: (id) => {
          if (place === undefined) {
            place = id;
            this.#readAnnotations(Math.max(0, Number(id) - annotationsBack));
          }
        },
        event: (name, data) => this.#event(name, data),
        lost: () => void (this.loaded || this.#loadNewest()),
        ended: (why) => void this.#streamEnded(why),
      },
    );
  }

  async #streamEnded(why: Refused | undefined): Promise<void> {
    if (why?.reason === "CURSOR_BEYOND_LOG") {
      // The database has lost messages, so what this page knows may be wrong.
      window.location.reload();
      return;
    }
    if (why !== undefined) {
      this.refused = why;
      return;
    }
    // The channel is closed, or its intent has ended. What is kept can still be read.
    await this.#untilAnswered(() => this.readAgain());
    if (!this.loaded) {
      await this.#loadNewest();
    }
  }

  async #loadNewest(): Promise<void> {
    await this.#untilAnswered(async () => {
      const known = this.#timeline.messages.length > 0;
      const page = await listMessages(this.id, { limit: firstPage }, this.#end.signal);
      this.#timeline.add(page.messages);
      if (!known) {
        this.beginning = !page.older;
        await this.#readUnread();
      }
      this.loaded = true;
      this.#changed();
    });
  }

  /** #readUnread finds what of the channel the reader has not read. The inbox is the same on every device. */
  async #readUnread(): Promise<void> {
    try {
      let cursor: string | undefined;
      for (let pages = 0; pages < inboxPages && (pages === 0 || cursor !== undefined); pages++) {
        const page = await getInbox(this.reader, cursor, this.#end.signal);
        for (const item of page.items) {
          if (!item.read && item.message.channel_id === this.id) {
            this.unread.add(item.message.id);
          }
        }
        cursor = page.next_cursor ?? undefined;
      }
    } catch (failure) {
      if (!(failure instanceof Refused)) {
        throw failure;
      }
      // Who may not read the inbox has no line that shows what is new.
    }
    this.#unreadAtFirst = new Set(this.unread);
  }

  #readAnnotations(after: number): void {
    const end = new AbortController();
    this.#end.signal.addEventListener("abort", () => end.abort());
    void follow(
      `v1/subscribe/channels/${part(this.id)}`,
      { query: { include: "annotations", event_types: annotationTypes }, after: String(after), signal: end.signal },
      {
        event: (name, data) => {
          // What was edited or deleted before the page began is read as it is now.
          if (name === "message_reaction" || name === "message_claimed" || name === "claim_released") {
            this.#event(name, data);
          }
        },
        caughtUp: () => end.abort(),
      },
    );
  }

  #event(name: string, data: string): void {
    if (name === "channel_message") {
      const message = JSON.parse(data) as StreamedMessage;
      if (this.#timeline.add([message])) {
        this.newest = message.id;
        if (isFor(this.reader, message)) {
          this.unread.add(message.id);
        }
      }
      this.#changed();
      return;
    }
    const stale = this.#timeline.annotate(JSON.parse(data) as Annotation);
    if (stale !== undefined && this.#timeline.get(stale) !== undefined) {
      void this.readMessage(stale);
    }
    this.#changed();
  }

  async #readOlder(): Promise<void> {
    const first = this.#timeline.messages[0];
    if (first === undefined || this.beginning || this.channel === undefined) {
      return;
    }
    const last = this.#timeline.messages.at(-1) ?? first;
    const span = Date.parse(last.created_at) - Date.parse(first.created_at);
    const floor = Date.parse(this.channel.created_at) - 1000;
    await this.#untilAnswered(async () => {
      const found = await older(first, span, floor, (since) => listMessages(this.id, { since, limit: nextPage }, this.#end.signal));
      this.#timeline.add(found.messages);
      this.beginning = found.beginning;
      this.#changed();
    });
  }

  /** #untilAnswered does something until the server has answered; with refusals that the page shows, unless they do not matter to it. */
  async #untilAnswered(what: () => Promise<void>, matters = true): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await what();
        return;
      } catch (failure) {
        if (this.#end.signal.aborted) {
          return;
        }
        if (failure instanceof Refused) {
          if (matters) {
            this.refused = failure;
          }
          return;
        }
        if (!(failure instanceof Away)) {
          throw failure;
        }
        await connection.back(this.#end.signal);
      }
    }
  }

  /** #forgetOldest keeps the page small, however much comes. */
  #forgetOldest(): void {
    const gone = this.#timeline.trim(most);
    gone.forEach((message) => this.unread.delete(message.id));
    if (gone.length > 0) {
      this.beginning = false;
    }
  }

  /** #changed shows what has changed, once for all that has come since the last frame. */
  #changed(): void {
    if (this.#planned) {
      return;
    }
    this.#planned = true;
    const show = () => {
      this.#planned = false;
      if (this.#end.signal.aborted) {
        return;
      }
      if (this.#atEnd) {
        this.#forgetOldest();
      }
      this.#version++;
      const newFrom = this.#unreadAtFirst.size > 0 ? this.#timeline.messages.find((one) => this.#unreadAtFirst.has(one.id)) : undefined;
      this.rows = rowsOf(this.#timeline.messages, newFrom?.id);
    };
    // A hidden page has no frames.
    if (document.visibilityState === "visible") {
      requestAnimationFrame(show);
    } else {
      setTimeout(show, 200);
    }
  }
}
