import type { ChannelCalls } from "./channel-calls.js";
import { AlreadyExistsError, ChannelNameTakenError } from "./errors.js";
import { ChannelHandle } from "./handle.js";
import { checkChannelName } from "./bounds.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import { intentFor, type Settings } from "./settings.js";
import type { Attempt, CreateChannelRequest, Transport } from "./transport.js";
import type { Channel, ChannelOptions, MemberPolicy } from "./types.js";

export interface CreateChannelOptions extends CallOptions {
  /** Listed members; they decide only under the `explicit` policy. */
  members?: readonly string[];
  /** `intent` unless given. */
  memberPolicy?: MemberPolicy;
  options?: Partial<ChannelOptions>;
  /** A task of the same intent; the channel closes when it ends. */
  taskId?: string;
  /** Gives the channel an address that people can dictate. */
  dictatable?: boolean;
}

const createNames: Names<CreateChannelOptions> = {
  ...callNames,
  members: true,
  memberPolicy: true,
  options: true,
  taskId: true,
  dictatable: true,
};
const settingNames: Names<ChannelOptions> = {
  audit: true,
  ttlSeconds: true,
  maxMessages: true,
  history: true,
  turnBudget: true,
  conversationBudget: true,
};

/** How often `open` tries, when others create and close channels of the same name meanwhile. */
const openAttempts = 5;

/** The channels of intents, by name or by id. */
export class ChannelDirectory {
  readonly #client: ChannelCalls;
  readonly #transport: Transport;
  readonly #settings: Settings;

  constructor(client: ChannelCalls, transport: Transport, settings: Settings) {
    this.#client = client;
    this.#transport = transport;
    this.#settings = settings;
  }

  /**
   * Gets the intent's open channel of this name or, when there is none, creates it with the options. When two callers do so
   * at once, both get the same channel. Without an intent it is the client's own.
   */
  async open(name: string, intent?: string, options: CreateChannelOptions = {}): Promise<ChannelHandle> {
    const intentId = intentFor("channels.open", intent, this.#settings);
    const request = requestOf("channels.open", intentId, name, options);
    return withRetry(this.#settings, options, async (attempt) => {
      for (let tries = 1; ; tries++) {
        const found = await this.#find(name, intentId, attempt);
        if (found) {
          return new ChannelHandle(this.#client, found);
        }
        try {
          return new ChannelHandle(this.#client, await this.#transport.createChannel(request, attempt));
        } catch (error) {
          if (!(error instanceof ChannelNameTakenError) || tries === openAttempts) {
            throw error;
          }
        }
      }
    });
  }

  /** Gets a channel by its id, to talk on it. @throws ChannelNotFoundError */
  async get(channelId: string, options: CallOptions = {}): Promise<ChannelHandle> {
    return new ChannelHandle(this.#client, await this.#client.getChannel(channelId, options));
  }

  /** Creates a channel. When the answer to an attempt was lost, it looks whether the channel is there now. */
  async create(intentId: string, name: string, options: CreateChannelOptions): Promise<Channel> {
    const request = requestOf("createChannel", intentId, name, options);
    return withRetry(this.#settings, options, async (attempt, perhapsMade) => {
      try {
        return await this.#transport.createChannel(request, attempt);
      } catch (error) {
        const made =
          error instanceof AlreadyExistsError && perhapsMade ? await this.#find(name, intentId, attempt) : undefined;
        if (made !== undefined && this.#isMadeFrom(made, request)) {
          return made;
        }
        throw error;
      }
    });
  }

  async #find(name: string, intentId: string, attempt: Attempt): Promise<Channel | undefined> {
    const channels = await this.#transport.listChannels(intentId, attempt);
    return channels.find((channel) => channel.name === name && channel.status === "open");
  }

  /** Whether a channel is the one that an earlier attempt of this client created. */
  #isMadeFrom(channel: Channel, request: CreateChannelRequest): boolean {
    const { agentId } = this.#settings;
    const asked = Object.entries(request.options) as [keyof ChannelOptions, unknown][];
    return (
      (agentId === undefined || channel.createdBy === agentId) &&
      channel.taskId === (request.taskId ?? null) &&
      (channel.address !== null) === (request.dictatable ?? false) &&
      channel.memberPolicy === request.memberPolicy &&
      channel.members.length === request.members.length &&
      channel.members.every((member, i) => member === request.members[i]) &&
      asked.every(([name, value]) => value === undefined || channel.options[name] === value)
    );
  }
}

function requestOf(call: string, intentId: string, name: string, options: CreateChannelOptions): CreateChannelRequest {
  refuseUnknown(call, options, createNames);
  checkChannelName(name);
  const { members = [], memberPolicy = "intent", options: settings = {}, taskId, dictatable } = options;
  refuseUnknown("The channel", settings, settingNames);
  return { intentId, name, members, memberPolicy, options: settings, ...(taskId && { taskId }), ...(dictatable && { dictatable }) };
}
