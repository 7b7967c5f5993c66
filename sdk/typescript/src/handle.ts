import type { AskAllOptions, AskOptions } from "./asking.js";
import type { ChannelCalls, SendOptions } from "./channel-calls.js";
import type { Claim, ClaimOptions } from "./claims.js";
import type { Annotation, Discharge, Explanation, Reaction } from "./conversation-types.js";
import type { AttentionOptions, DischargeOptions, EditOptions, ReactOptions } from "./conversing.js";
import type { Following, FollowOptions } from "./following.js";
import type { CallOptions } from "./retry.js";
import type { Included } from "./transport.js";
import type {
  Channel,
  ChannelMessage,
  ChannelOptions,
  ChannelStatus,
  JsonObject,
  MemberPolicy,
  Message,
  Revision,
  Thread,
} from "./types.js";

/** A channel to talk on, with its fields as they were when the handle was made. */
export class ChannelHandle implements Channel {
  readonly #client: ChannelCalls;
  readonly id: string;
  readonly intentId: string;
  readonly address: string | null;
  readonly taskId: string | null;
  readonly name: string;
  readonly createdBy: string;
  readonly members: readonly string[];
  readonly memberPolicy: MemberPolicy;
  readonly options: ChannelOptions;
  readonly status: ChannelStatus;
  readonly createdAt: Date;
  readonly closedAt: Date | null;
  readonly messageCount: number;
  readonly lastMessageAt: Date | null;

  constructor(client: ChannelCalls, channel: Channel) {
    this.#client = client;
    this.id = channel.id;
    this.intentId = channel.intentId;
    this.address = channel.address;
    this.taskId = channel.taskId;
    this.name = channel.name;
    this.createdBy = channel.createdBy;
    this.members = channel.members;
    this.memberPolicy = channel.memberPolicy;
    this.options = channel.options;
    this.status = channel.status;
    this.createdAt = channel.createdAt;
    this.closedAt = channel.closedAt;
    this.messageCount = channel.messageCount;
    this.lastMessageAt = channel.lastMessageAt;
  }

  /** Asks an agent or a `role:...` and returns the first response; see `Client.ask`. */
  ask<T = JsonObject>(to: string, payload: object, options: AskOptions = {}): Promise<Message<T>> {
    return this.#client.ask<T>(this.id, to, payload, options);
  }

  /** Asks and returns all responses within the window; see `Client.askAll`. */
  askAll<T = JsonObject>(to: string, payload: object, options: AskAllOptions = {}): Promise<Message<T>[]> {
    return this.#client.askAll<T>(this.id, to, payload, options);
  }

  /** Asks and yields responses as they come; see `Client.askAllIter`. */
  askAllIter<T = JsonObject>(to: string, payload: object, options: AskAllOptions = {}): AsyncGenerator<Message<T>, void> {
    return this.#client.askAllIter<T>(this.id, to, payload, options);
  }

  /** Tells an agent or a `role:...` something that needs no answer. */
  notify(to: string, payload: object, options: Omit<SendOptions, "to" | "messageType"> = {}): Promise<Message> {
    return this.send(payload, { ...options, to, messageType: "notify" });
  }

  /** Tells every participant of the channel something. */
  broadcast(payload: object, options: Omit<SendOptions, "to" | "messageType"> = {}): Promise<Message> {
    return this.send(payload, { ...options, messageType: "broadcast" });
  }

  /** Sends a message of any type. */
  send(payload: object, options: SendOptions = {}): Promise<Message> {
    return this.#client.sendMessage(this.id, payload, options);
  }

  /** Follows the channel, from now on unless `after` says otherwise. */
  messages<T = JsonObject>(options: FollowOptions & { include: readonly Included[] }): Following<T, Annotation>;
  messages<T = JsonObject>(options?: FollowOptions): Following<T> & AsyncIterableIterator<ChannelMessage<T>>;
  messages<T = JsonObject>(options: FollowOptions = {}): Following<T, Annotation> | Following<T> {
    return this.#client.follow<T>(this.id, options);
  }

  /** Reads the whole thread of a message, which is given whole or by its id. */
  thread(message: MessageOrId, options: CallOptions = {}): Promise<Thread> {
    return this.#client.getThread(this.id, idOf(message), options);
  }

  /** Gives a message new content; see `Client.editMessage`. */
  edit(message: MessageOrId, options: EditOptions): Promise<Message> {
    return this.#client.editMessage(this.id, idOf(message), options);
  }

  /** Deletes the content of a message; see `Client.deleteMessage`. */
  delete(message: MessageOrId, options: CallOptions = {}): Promise<Message> {
    return this.#client.deleteMessage(this.id, idOf(message), options);
  }

  /** What the content of a message was and is. */
  revisions(message: MessageOrId, options: CallOptions = {}): Promise<Revision[]> {
    return this.#client.listRevisions(this.id, idOf(message), options);
  }

  /** Reacts to a message; see `Client.addReaction`. */
  react(message: MessageOrId, signal: string, options: ReactOptions = {}): Promise<Reaction[]> {
    return this.#client.addReaction(this.id, idOf(message), signal, options);
  }

  /** Takes a signal away, if it is there. */
  unreact(message: MessageOrId, signal: string, options: CallOptions = {}): Promise<Reaction[]> {
    return this.#client.removeReaction(this.id, idOf(message), signal, options);
  }

  /** The reactions to a message. */
  reactions(message: MessageOrId, options: CallOptions = {}): Promise<Reaction[]> {
    return this.#client.listReactions(this.id, idOf(message), options);
  }

  /** Works while it holds a claim on a message; see `Client.withClaim`. */
  withClaim<T>(message: MessageOrId, work: (claim: Claim) => T | Promise<T>, options: ClaimOptions = {}): Promise<T> {
    return this.#client.withClaim(this.id, idOf(message), work, options);
  }

  /** Closes the obligation of a request; see `Client.discharge`. */
  discharge(message: MessageOrId, options: DischargeOptions = {}): Promise<Discharge> {
    return this.#client.discharge(this.id, idOf(message), options);
  }

  /** Tells what a message asks of an agent, and by which rules. */
  attention(message: MessageOrId, options: AttentionOptions = {}): Promise<Explanation> {
    return this.#client.getAttention(this.id, idOf(message), options);
  }

  /** Closes the channel; closing a closed one is not an error. */
  close(options: CallOptions = {}): Promise<Channel> {
    return this.#client.closeChannel(this.id, options);
  }
}

/** A message, or its id. */
type MessageOrId = Pick<Message, "id"> | string;

function idOf(message: MessageOrId): string {
  return typeof message === "string" ? message : message.id;
}
