import type { OpenIntentClient } from "../grpc/client.js";
import { exactly } from "../saying.js";
import type { JsonObject, Message } from "../types.js";
import { Calm } from "./calm.js";
import { pauseSince } from "./moved-clock.js";
import { messagesOf, plain, saidBy, type Said } from "./record.js";
import type { Server } from "./server.js";
import type { Difference, Report, StoryHead, StoryLine } from "./story-form.js";

/** One playing of a story. */
export class Playing {
  readonly #report: Report = { differences: [], leftOut: [] };
  readonly #channels = new Map<string, string>();
  readonly #clients = new Map<string, OpenIntentClient>();
  /** By the id in the record, the message that stands for it here. */
  readonly #stand = new Map<string, Pick<Message, "id" | "channelId">>();
  /** The messages of the agent that stand for lines of the record. */
  readonly #seen = new Set<string>();
  #intent = "";
  #passed = 0;

  constructor(
    private readonly server: Server,
    private readonly head: StoryHead,
    private readonly lines: readonly StoryLine[],
    private readonly id: string,
    private readonly matches: (recorded: JsonObject, said: JsonObject) => boolean,
    /** How long the story waits for what the agent should say, in milliseconds. */
    private readonly within = 5_000,
  ) {}

  /** Makes the intent and the channels, and lets the others join. */
  async prepare(): Promise<void> {
    const operator = this.server.client();
    this.#intent = (await operator.intents.create(this.head.title, { status: "active" })).id;
    for (const agent of this.head.agents) {
      if (agent.id !== this.id && agent.id !== "operator") {
        await this.server.peer(agent.id, agent.role).staysSilent();
      }
    }
    for (const { name, member_policy: memberPolicy, members = [] } of this.head.channels) {
      this.#channels.set(name, (await operator.channels.open(name, this.#intent, { memberPolicy, members: [...members] })).id);
    }
  }

  /** Plays the lines, while the agent runs. */
  async play(): Promise<Report> {
    for (const line of this.lines) {
      await (line.sender === this.id ? this.#expect(line) : this.#say(line));
    }
    await this.#untilCalm();
    for (const said of await this.#own()) {
      if (!this.#seen.has(said.id)) {
        this.#differs("said", null, said, `said ${plain(said.payload)} to ${everyone(said.to)} on ${said.channel}, as the record does not`);
      }
    }
    await this.#noteWoken();
    return this.#report;
  }

  /** Says what one of the others said. */
  async #say(line: StoryLine): Promise<void> {
    await this.#pass(line);
    const answered = line.answers === undefined ? null : this.#stand.get(line.answers);
    const parent = line.parent === undefined ? null : this.#stand.get(line.parent);
    if (answered === undefined || parent === undefined) {
      this.#report.leftOut.push(line);
      return;
    }
    const { subject, kind, mentions, metadata, seconds, sender } = line;
    const client = this.#client(sender);
    const options = { subject, kind, mentions, metadata, priority: line.priority as "normal" | undefined };
    if (answered !== null) {
      const reply = (fence?: number): Promise<Message> => client.replyTo(answered.channelId, answered.id, line.payload, { ...options, fence });
      const asked = this.lines.find(({ id }) => id === line.answers)!;
      const claims = asked.to?.startsWith("role:") && exactly(asked.collect) !== null;
      const place = [answered.channelId, answered.id] as const;
      this.#stand.set(line.id, await (claims ? client.withClaim(...place, (claim) => reply(claim.fence)) : reply()));
      return;
    }
    const said = await client.sendMessage(this.#channels.get(line.channel)!, line.payload, {
      ...options,
      to: line.to,
      messageType: line.message_type as Message["messageType"],
      collect: line.collect,
      ...(line.blocks !== undefined && { obligation: { blocks: line.blocks as "halted" } }),
      ...(parent !== null && { parent }),
      ...(seconds !== undefined && { expiresAt: new Date((await this.server.now()).getTime() + seconds * 1000) }),
    });
    this.#stand.set(line.id, said);
  }

  /** Waits for what the agent says in place of a line of the record, and notes how it differs. */
  async #expect(line: StoryLine): Promise<void> {
    let found = await this.#untilCalm(line);
    if (found === null && this.#isLater(line)) {
      await this.#pass(line);
      found = await this.#untilCalm(line);
    }
    if (found !== null) {
      this.#take(line, found);
      return;
    }
    const said = (await this.#own()).find((own) => !this.#seen.has(own.id) && this.#standsFor(own, line));
    if (said === undefined) {
      this.#differs("not_said", line, null, `did not say ${plain(line.payload)} ${where(line)}`);
      return;
    }
    this.#take(line, said);
    this.#differs("said", line, said, `said ${plain(said.payload)} instead of ${plain(line.payload)} ${where(line)}`);
  }

  /** Waits until the agent is calm, but no longer than for what it should say: that of a line, which is returned. */
  async #untilCalm(line: StoryLine | null = null): Promise<Said | null> {
    const calm = new Calm(this.id, line === null || this.#isLater(line));
    for (const begun = Date.now(); Date.now() - begun <= this.within; await pauseSince(begun)) {
      const [now, read] = [await this.server.now(), await messagesOf(this.server, this.#intent)];
      const found = line && this.#found(line, read);
      const moment = Date.now();
      if (found !== null || calm.isReached(moment, await this.server.isAtWork(this.id), read.map(([, message]) => message), now)) {
        return found;
      }
    }
    return null;
  }

  /** What the agent has said as a line of the record says it; null for nothing. */
  #found(line: StoryLine, read: Awaited<ReturnType<typeof messagesOf>>): Said | null {
    const own = read.filter(([, { sender, id }]) => sender === this.id && !this.#seen.has(id)).map(([channel, message]) => saidBy(channel, message));
    return own.find((said) => this.#standsFor(said, line) && this.matches(line.payload, said.payload)) ?? null;
  }

  /** Lets time pass until a line of the record, once the agent has done what it has to do before. */
  async #pass(line: StoryLine): Promise<void> {
    if (this.#isLater(line)) {
      await this.#untilCalm();
      await this.server.advance(line.after_seconds - this.#passed);
      this.#passed = line.after_seconds;
    }
  }

  #isLater(line: StoryLine): boolean {
    return line.after_seconds > this.#passed;
  }

  /** Notes which messages woke the agent here and not in the record, or the other way round. */
  async #noteWoken(): Promise<void> {
    for (const line of this.lines) {
      const played = this.#stand.get(line.id);
      if (line.sender === this.id || played === undefined) {
        continue;
      }
      const then = line.woken?.includes(this.id) ?? false;
      const now = (await this.server.woken(played.channelId, played.id)).includes(this.id);
      const which = `${plain(line.payload)} of ${line.sender} on ${line.channel}`;
      if (now !== then) {
        this.#differs("woken", line, null, then ? `was not woken by ${which}, as it was in the record` : `was woken by ${which}, and not in the record`);
      }
    }
  }

  #own(): Promise<Said[]> {
    return this.server.said(this.#intent, { sender: this.id });
  }

  #take(line: StoryLine, said: Said): void {
    this.#seen.add(said.id);
    this.#stand.set(line.id, said);
  }

  /** Whether a message has the place of a line: the same channel, addressee and type, and it answers the same. */
  #standsFor(said: Said, line: StoryLine): boolean {
    const answered = line.answers === undefined ? null : (this.#stand.get(line.answers)?.id ?? null);
    const same = said.channel === line.channel && said.messageType === line.message_type && said.correlationId === answered;
    return same && everyone(said.to) === everyone(line.to);
  }

  #client(agentId: string): OpenIntentClient {
    const client = this.#clients.get(agentId) ?? this.server.client(agentId === "operator" ? undefined : agentId);
    this.#clients.set(agentId, client);
    return client;
  }

  #differs(kind: Difference["kind"], recorded: StoryLine | null, said: Said | null, text: string): void {
    this.#report.differences.push({ kind, text: `${this.id} ${text}`, recorded, said });
  }
}

function everyone(to: string | null | undefined): string {
  return to === null || to === undefined || to === "*" || to === "" ? "everyone" : to;
}

function where(line: StoryLine): string {
  return `to ${everyone(line.to)} on ${line.channel}`;
}
