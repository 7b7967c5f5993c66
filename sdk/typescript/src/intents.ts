import { checkBounds } from "./bounds.js";
import { AbortedError } from "./errors.js";
import { toJsonObject } from "./json.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import { intentFor, type Settings } from "./settings.js";
import type { IntentsRequest, Transport } from "./transport.js";
import type { AccessPolicy, Intent, IntentPage, IntentStatus } from "./types.js";

export interface CreateIntentOptions extends CallOptions {
  description?: string;
  /** `draft` unless given. */
  status?: IntentStatus;
  constraints?: object;
  state?: object;
  parentIntentId?: string;
  /** Intents that must be completed before this one. */
  dependsOn?: readonly string[];
  /** Begins an access control list with the intent. Without it the server's setting says what everyone may do. */
  defaultPolicy?: AccessPolicy;
}

const createNames: Names<CreateIntentOptions> = {
  ...callNames,
  description: true,
  status: true,
  constraints: true,
  state: true,
  parentIntentId: true,
  dependsOn: true,
  defaultPolicy: true,
};

export interface OpenIntentOptions extends CallOptions {
  /** The description of an intent that is made. */
  description?: string;
  /** Begins an access control list with an intent that is made. */
  defaultPolicy?: AccessPolicy;
}

const openNames: Names<OpenIntentOptions> = { ...callNames, description: true, defaultPolicy: true };

export interface ListIntentsOptions extends CallOptions, IntentsRequest {}

const listNames: Names<ListIntentsOptions> = { ...callNames, status: true, order: true, limit: true, cursor: true };

/** How often setting a status is tried, when others change the intent meanwhile. */
const statusAttempts = 10;

/** The few calls on intents that conversations need. */
export class IntentDirectory {
  readonly #transport: Transport;
  readonly #settings: Settings;

  constructor(transport: Transport, settings: Settings) {
    this.#transport = transport;
    this.#settings = settings;
  }

  /** Creates an intent. When its answer is lost, the call is not made again, since that could create two. */
  async create(title: string, options: CreateIntentOptions = {}): Promise<Intent> {
    refuseUnknown("intents.create", options, createNames);
    const { signal, timeout, constraints, state, ...plain } = options;
    const request = {
      title,
      ...plain,
      ...(constraints !== undefined && { constraints: toJsonObject(constraints, "constraints") }),
      ...(state !== undefined && { state: toJsonObject(state, "state") }),
    };
    checkBounds("CreateIntentRequest", request);
    return withRetry(this.#settings, { signal, timeout, repeatable: false }, (attempt) =>
      this.#transport.createIntent(request, attempt),
    );
  }

  /**
   * Finds the intent of a title, or makes it, so that agents which agree on a title need no ids. The server takes one that is the caller's or
   * names it first, then another one that the caller may read, and makes an active one if there is none.
   *
   * @throws AlreadyExistsError when there are several, of which none is taken
   */
  async open(title: string, options: OpenIntentOptions = {}): Promise<Intent> {
    refuseUnknown("intents.open", options, openNames);
    const { signal, timeout, ...plain } = options;
    return withRetry(this.#settings, { signal, timeout }, (attempt) =>
      this.#transport.openIntent({ title, ...plain }, attempt),
    );
  }

  /** A page of the intents that the caller may read. `cursor` is the `nextCursor` of the page before. */
  async list(options: ListIntentsOptions = {}): Promise<IntentPage> {
    refuseUnknown("intents.list", options, listNames);
    const { signal, timeout, ...request } = options;
    return withRetry(this.#settings, { signal, timeout }, (attempt) => this.#transport.listIntents(request, attempt));
  }

  /** Reads an intent: the client's own, if none is given. */
  async get(intentId?: string, options: CallOptions = {}): Promise<Intent> {
    refuseUnknown("intents.get", options, callNames);
    const id = intentFor("intents.get", intentId, this.#settings);
    return withRetry(this.#settings, options, (attempt) => this.#transport.getIntent(id, attempt));
  }

  /**
   * Moves an intent along its lifecycle, whatever its version is now. `completed` and `abandoned` close its channels.
   *
   * @throws InvalidArgumentError when it cannot go from its status to that one
   */
  async setStatus(intentId: string, status: IntentStatus, options: CallOptions = {}): Promise<Intent> {
    refuseUnknown("intents.setStatus", options, callNames);
    return withRetry(this.#settings, options, async (attempt, perhapsSet) => {
      for (let tries = 1; ; tries++) {
        const intent = await this.#transport.getIntent(intentId, attempt);
        if (perhapsSet && intent.status === status) {
          return intent; // An earlier attempt did it, and its answer was lost.
        }
        try {
          return await this.#transport.setIntentStatus(intentId, status, intent.version, attempt);
        } catch (error) {
          if (!(error instanceof AbortedError) || error.reason === "" || tries === statusAttempts) {
            throw error;
          }
        }
      }
    });
  }
}
