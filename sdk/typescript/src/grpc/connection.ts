import {
  ConnectError,
  createClient,
  type CallOptions as ConnectCallOptions,
  type Client as ServiceClient,
} from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { defaultAddresses } from "../address.js";
import type { Clock } from "../clock.js";
import { AttentionService } from "../generated/openintent/v1/attention_pb.js";
import { AgentService } from "../generated/openintent/v1/agents_pb.js";
import { ChannelService } from "../generated/openintent/v1/channels_pb.js";
import { ClaimService } from "../generated/openintent/v1/claims_pb.js";
import { ObligationService } from "../generated/openintent/v1/obligations_pb.js";
import { ConcernService } from "../generated/openintent/v1/concern_pb.js";
import { IntentService } from "../generated/openintent/v1/intents_pb.js";
import { LeaseService } from "../generated/openintent/v1/leases_pb.js";
import { MessageService } from "../generated/openintent/v1/messages_pb.js";
import { ReachService } from "../generated/openintent/v1/reach_pb.js";
import { ReactionService } from "../generated/openintent/v1/reactions_pb.js";
import { SearchService } from "../generated/openintent/v1/search_pb.js";
import { SubscriptionService } from "../generated/openintent/v1/subscriptions_pb.js";
import { clientClosed, connectionLost } from "../errors.js";
import { notConnected, wrongFace } from "../server-away.js";
import { identity, type Settings } from "../settings.js";
import type { Attempt } from "../transport.js";
import { Exchanges } from "./exchange/exchanges.js";
import { grpcError } from "./failure.js";
import { isRestAnswer, isRestFace } from "./rest-face.js";
import { needsTls, speaksTls, tlsError } from "./securing.js";
import { Sessions } from "./sessions.js";
import { withDirectCalls } from "./unary.js";

/** How long a connection may be quiet before a ping asks whether it lives, in milliseconds; the server allows 10 s. */
const quietFor = 20_000;
const answerWithin = 10_000;

/** One connection to a gRPC server, with the clients of its services. It connects when needed, and reconnects. */
export class GrpcConnection {
  readonly agents: ServiceClient<typeof AgentService>;
  readonly attention: ServiceClient<typeof AttentionService>;
  readonly claims: ServiceClient<typeof ClaimService>;
  readonly obligations: ServiceClient<typeof ObligationService>;
  readonly channels: ServiceClient<typeof ChannelService>;
  readonly concerns: ServiceClient<typeof ConcernService>;
  readonly intents: ServiceClient<typeof IntentService>;
  readonly leases: ServiceClient<typeof LeaseService>;
  readonly messages: ServiceClient<typeof MessageService>;
  readonly reach: ServiceClient<typeof ReachService>;
  readonly reactions: ServiceClient<typeof ReactionService>;
  readonly search: ServiceClient<typeof SearchService>;
  readonly subscriptions: ServiceClient<typeof SubscriptionService>;
  /** What errors and log lines call the server. */
  readonly server: string;
  readonly #sessions: Sessions;
  readonly #exchanges: Exchanges;
  #closed = false;
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #headers: Record<string, string>;

  constructor(
    private readonly url: string,
    settings: Settings,
    /** The certificates to trust, in PEM form, in place of the system's. */
    ca?: string,
    /** For tests: whether calls go on an exchange from the first one on. */
    alwaysExchanges = false,
  ) {
    this.server = settings.server;
    this.#clock = settings.clock;
    this.#settings = settings;
    this.#sessions = new Sessions(url, { pingIntervalMs: quietFor, pingTimeoutMs: answerWithin }, ca === undefined ? {} : { ca });
    this.#headers = identity(settings);
    this.#exchanges = new Exchanges(this.#sessions, this.#clock, this.#headers, alwaysExchanges);
    const connect = createGrpcTransport({ baseUrl: url, sessionManager: this.#sessions });
    const transport = withDirectCalls(connect, this.#sessions, this.#exchanges);
    this.agents = createClient(AgentService, transport);
    this.attention = createClient(AttentionService, transport);
    this.claims = createClient(ClaimService, transport);
    this.obligations = createClient(ObligationService, transport);
    this.channels = createClient(ChannelService, transport);
    this.concerns = createClient(ConcernService, transport);
    this.intents = createClient(IntentService, transport);
    this.leases = createClient(LeaseService, transport);
    this.messages = createClient(MessageService, transport);
    this.reach = createClient(ReachService, transport);
    this.reactions = createClient(ReactionService, transport);
    this.search = createClient(SearchService, transport);
    this.subscriptions = createClient(SubscriptionService, transport);
  }

  /** Makes a call as one attempt. It throws this package's error, or the reason of the attempt's signal. */
  async call<T>(attempt: Attempt, make: (options: ConnectCallOptions) => Promise<T>): Promise<T> {
    this.#mustBeOpen();
    try {
      return await make(this.options(attempt));
    } catch (thrown) {
      throw await this.#explained(thrown, attempt.signal);
    }
  }

  /** Opens a stream as one attempt. It ends only by throwing. */
  async *stream<T>(attempt: Attempt, open: (options: ConnectCallOptions) => AsyncIterable<T>): AsyncGenerator<T, void> {
    this.#mustBeOpen();
    try {
      yield* open(this.options(attempt));
    } catch (thrown) {
      throw await this.#explained(thrown, attempt.signal);
    }
    throw connectionLost("The stream ended without a reason.");
  }

  /** Turns what a call threw into this package's error, which says so when this is not the port for gRPC. */
  async #explained(thrown: unknown, signal: AbortSignal): Promise<unknown> {
    this.#mustBeOpen();
    if (!signal.aborted && thrown instanceof ConnectError) {
      if (this.#sessions.gotNone(thrown)) {
        return tlsError(this.server, thrown) ?? notConnected(thrown.rawMessage.trim(), thrown, this.#settings);
      }
      if (isRestAnswer(thrown) || (this.#sessions.metAnother(thrown) && (await isRestFace(this.url, signal, this.#clock)))) {
        return wrongFace(this.server, "gRPC", defaultAddresses.grpc);
      }
      if (this.#sessions.heardNothing && this.url.startsWith("http:") && (await speaksTls(this.url, signal, this.#clock))) {
        return needsTls(this.server);
      }
    }
    return grpcError(thrown, signal);
  }

  private options(attempt: Attempt): ConnectCallOptions {
    const { traceparent } = attempt;
    const headers = traceparent === undefined ? this.#headers : { ...this.#headers, traceparent };
    return { signal: attempt.signal, headers, ...(attempt.timeoutMs !== undefined && { timeoutMs: attempt.timeoutMs }) };
  }

  /** Notes that the server was reached, also without a call of the client. */
  reached(): void {
    this.#settings.outage.over();
  }

  /** Whether the server is on this machine. */
  get local(): boolean {
    return this.#settings.start !== undefined;
  }

  /** Ends the calls that are under way, and refuses later ones. */
  close(): void {
    this.#closed = true;
    this.#exchanges.close();
    this.#sessions.abort();
  }

  /** Lets go of the connection until it is needed again. Calls that are under way are tried again. */
  rest(): void {
    this.#sessions.abort();
  }

  #mustBeOpen(): void {
    if (this.#closed) {
      throw clientClosed();
    }
  }
}
