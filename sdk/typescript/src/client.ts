import { ChannelCalls } from "./channel-calls.js";
import { ChannelDirectory, type CreateChannelOptions } from "./channels.js";
import type { ConcernFilters, ConcernPage } from "./concerns.js";
import { AgentDirectory, RoleDirectory } from "./directory.js";
import { ChannelHandle } from "./handle.js";
import { IntentDirectory } from "./intents.js";
import { withLease, type Lease, type LeaseOptions } from "./leases.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import { intentFor, type Settings } from "./settings.js";
import type { Transport } from "./transport.js";
import type { Channel, Reach } from "./types.js";

export interface ConcernOptions extends CallOptions, ConcernFilters {}

const concernNames: Names<ConcernOptions> = { ...callNames, kind: true, intentId: true, agentId: true, limit: true, cursor: true };

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
  /** The intent of calls that name none; undefined when there is none. */
  readonly intentId: string | undefined;
  /** The records of agents. */
  readonly agents: AgentDirectory;
  /** The roles that agents hold. */
  readonly roles: RoleDirectory;

  protected constructor(transport: Transport, settings: Settings) {
    super(transport, settings);
    this.agentId = settings.agentId;
    this.intentId = settings.intentId;
    this.agents = new AgentDirectory(transport, settings);
    this.roles = new RoleDirectory(transport, settings);
    this.channels = new ChannelDirectory(this, transport, settings);
    this.intents = new IntentDirectory(transport, settings);
  }

  /** Creates a channel. @throws ChannelNameTakenError when an open channel of the intent has the name. */
  createChannel(intentId: string, name: string, options: CreateChannelOptions = {}): Promise<Channel> {
    return this.channels.create(intentId, name, options);
  }

  /** The channels of an intent, open ones first: of the client's own, if none is given. */
  async listChannels(intentId?: string, options: CallOptions = {}): Promise<Channel[]> {
    refuseUnknown("listChannels", options, callNames);
    const id = intentFor("listChannels", intentId, this.settings);
    return withRetry(this.settings, options, (attempt) => this.transport.listChannels(id, attempt));
  }

  /** Whether anybody would hear what is sent to an agent now. @throws NotFoundError when this client may not know. */
  async reach(agentId: string, options: CallOptions = {}): Promise<Reach> {
    refuseUnknown("reach", options, callNames);
    return withRetry(this.settings, options, (attempt) => this.transport.getReach(agentId, attempt));
  }

  /**
   * What needs the caller, the oldest first: its own concerns, those of intents to which it has admin access, and for the operator all.
   * One page; `cursor: page.nextCursor` goes on.
   */
  async concerns(options: ConcernOptions = {}): Promise<ConcernPage> {
    refuseUnknown("concerns", options, concernNames);
    const { signal, timeout, ...filters } = options;
    return withRetry(this.settings, { signal, timeout }, (attempt) => this.transport.listConcerns(filters, attempt));
  }

  /**
   * Leases a scope of an intent for the time of the work: the lease renews itself meanwhile, and is released after it. The work
   * learns from `lease.signal` that the lease is lost; its result then does not count.
   *
   * @throws AlreadyExistsError with reason `LEASE_HELD` when the scope is taken, and LeaseLostError when the lease was lost
   */
  withLease<T>(
    intentId: string,
    scope: string,
    work: (lease: Lease) => T | Promise<T>,
    options: LeaseOptions = {},
  ): Promise<T> {
    return withLease(this.transport, this.settings, intentId, scope, work, options);
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
