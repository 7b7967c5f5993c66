import { ChannelCalls } from "./channel-calls.js";
import { ChannelDirectory, type CreateChannelOptions } from "./channels.js";
import { ChannelHandle } from "./handle.js";
import { IntentDirectory } from "./intents.js";
import { refuseUnknown } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import type { Settings } from "./settings.js";
import type { Transport } from "./transport.js";
import type { Channel } from "./types.js";

/**
 * The client, over any transport. Any number of calls may be made at the same time. Each takes a `signal`, which gives it
 * up, and a `timeout` in seconds.
 *
 * A lost connection, or a server that stops or is full, is not the caller's concern: the client makes the call again, under
 * the same idempotency key, until its deadline. Everything else that goes wrong is an OpenIntentError.
 */
export class Client extends ChannelCalls {
  /** The channels of intents, by name or by id. */
  readonly channels: ChannelDirectory;
  /** The few calls on intents that conversations need. */
  readonly intents: IntentDirectory;
  /** The agent that this client acts as; undefined: a bound key's own, or the operator. */
  readonly agentId: string | undefined;

  protected constructor(transport: Transport, settings: Settings) {
    super(transport, settings);
    this.agentId = settings.agentId;
    this.channels = new ChannelDirectory(this, transport, settings);
    this.intents = new IntentDirectory(transport, settings);
  }

  /** Creates a channel. @throws ChannelNameTakenError when an open channel of the intent has the name. */
  createChannel(intentId: string, name: string, options: CreateChannelOptions = {}): Promise<Channel> {
    return this.channels.create(intentId, name, options);
  }

  /** The intent's channels, open ones first. */
  async listChannels(intentId: string, options: CallOptions = {}): Promise<Channel[]> {
    refuseUnknown("listChannels", options, callNames);
    return withRetry(this.settings, options, (attempt) => this.transport.listChannels(intentId, attempt));
  }

  /** A handle of a channel that is known already, as from `listChannels`. */
  handle(channel: Channel): ChannelHandle {
    return new ChannelHandle(this, channel);
  }

  /** Ends the client: calls that are under way, and later ones, fail with the code `CANCELLED`. */
  close(): void {
    this.transport.close();
  }
}
