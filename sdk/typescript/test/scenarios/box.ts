import { setTimeout } from "node:timers/promises";
import { OpenIntentClient, type Answered, type Batch, type Mailbox, type MailboxMessage } from "../../src/index.js";
import { charactersOf } from "../../src/mailbox/fence.js";
import { interval } from "./conversing.js";
import type { Values } from "./scenario.js";

/** Whose mailbox it is, and where. */
export interface BoxOptions {
  server: string;
  apiKey: string;
  alwaysExchanges: boolean;
  agentId: string;
  channels?: string[];
  attention?: boolean;
  max_chars?: number;
}

/** A mailbox, and what was taken from it last. */
export class Box {
  #batch: Batch | null = null;

  private constructor(
    private readonly client: OpenIntentClient,
    private readonly mailbox: Mailbox,
    private readonly most: number,
  ) {}

  static async open({ channels, attention, max_chars: maxChars, ...connection }: BoxOptions): Promise<Box> {
    const client = new OpenIntentClient(connection);
    const options = {
      ...(channels && { channels }),
      ...(attention !== undefined && { attention }),
      ...(maxChars !== undefined && { maxChars }),
    };
    const mailbox = client.mailbox(connection.agentId, options);
    await mailbox.open();
    return new Box(client, mailbox, maxChars ?? 4_000);
  }

  /** Does a step. */
  async perform(what: string, fields: Values): Promise<any> {
    switch (what) {
      case "take":
        return this.#take(fields);
      case "settle":
        await this.#batch?.settle({ except: fields["except"] ?? [] });
        return null;
      case "waiting":
        await this.#until((waiting) => waiting === fields["count"]);
        return fields["count"];
      case "answer":
        return answered(await this.mailbox.answer(fields["message"], fields["payload"]));
      case "decline":
        return answered(await this.mailbox.decline(fields["message"], fields["note"]));
      case "read": {
        const text = await this.mailbox.read(fields["message"]);
        return { fits: charactersOf(text) <= this.most, goes_on: text.includes("There is more") };
      }
      case "tool": {
        const tool = this.mailbox.tools().find(({ name }) => name === fields["tool"]);
        return { text: await tool!.execute(fields["with"]) };
      }
      case "close":
        await this.close();
        return null;
      default:
        throw new Error(`A mailbox does not know the step ${what}.`);
    }
  }

  async #until(enough: (waiting: number) => boolean): Promise<void> {
    while (!enough(this.mailbox.waiting)) {
      await setTimeout(interval);
    }
  }

  async #take({ count, wait = 0 }: Values): Promise<any> {
    await this.#until((waiting) => waiting >= count);
    const batch = await this.mailbox.take(wait);
    const { messages } = batch;
    this.#batch = messages.length > 0 ? batch : this.#batch;
    const characters = messages.reduce((sum, { text }) => sum + charactersOf(text), 0);
    return { fits: characters <= this.most, messages: messages.map(plain) };
  }

  async close(): Promise<void> {
    await this.mailbox.close();
    this.client.close();
  }

  kill(): Promise<void> {
    return Promise.reject(new Error("Only a mailbox that is apart can be killed."));
  }
}

function plain({ message, text, intentId, ...facts }: MailboxMessage): Values {
  const { id, from, cut_from_bytes: cut } = JSON.parse(text.split("\n")[0]!) as Values;
  if (id !== facts.id || from !== facts.sender) {
    throw new Error(`The text does not say who has sent it: ${text}`);
  }
  return { ...facts, payload: message.payload, cut: cut !== undefined };
}

function answered({ stored, message, declined }: Answered): Values {
  return { stored, payload: message?.payload ?? null, declined };
}
