import type { Claim, ChannelHandle } from "../../src/exports.js";
import { Gate } from "./waiting.js";

/** A claim that is held from one step to another. */
export class HeldInBackground {
  readonly #end = new Gate();
  #holding!: Promise<void>;

  private constructor() {}

  /** Claims a message, and returns when the claim is granted. */
  static async take(handle: ChannelHandle, messageId: string): Promise<{ claim: Claim; held: HeldInBackground }> {
    const held = new HeldInBackground();
    const claim = await new Promise<Claim>((granted, refused) => {
      held.#holding = handle.withClaim(messageId, (claim) => {
        granted(claim);
        return held.#end.opened;
      });
      held.#holding.catch(refused);
    });
    return { claim, held };
  }

  /** Gives the claim back. */
  async release(): Promise<void> {
    this.#end.open();
    await this.#holding;
  }
}
