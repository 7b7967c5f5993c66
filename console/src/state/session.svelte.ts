import { call, send, signWith, type CallOptions } from "../client/client.ts";
import { Away, Refused } from "../client/refusal.ts";
import type { Session } from "../client/types.ts";
import { forgetSecret, keepSecret, keptSecret } from "./secret.ts";

/** The header that carries the secret; the cookie counts only together with it. */
const header = "X-OpenIntent-Console";

/** What somebody signs in with: a key, an invite, or the code with which an identity provider has sent them. */
export type SignIn = { api_key: string; agent_id?: string } | { invite: string; name?: string } | { code: string; agent_id?: string };

/** A call of somebody who is about to sign in, which no page of another origin can make. */
const signingIn: CallOptions = { headers: { [header]: "sign-in" }, signingIn: true };

/** What an invite is for. */
export interface ShownInvite {
  channel_id: string;
  channel: string;
  invited_by: string;
  read_only: boolean;
  expires_at: string;
}

/** showInvite asks what an invite is for, before anybody comes with it. */
export function showInvite(invite: string): Promise<ShownInvite> {
  return send<ShownInvite>("POST", "console/invite", { invite }, signingIn);
}

/** actsAsOperator reports whether somebody may do everything. Who has an operator's key and acts as an agent has the agent's rights. */
export function actsAsOperator(who: Session): boolean {
  return who.operator && who.agent_id === "operator";
}

/** Who is signed in, and what is known of that. */
class SessionState {
  /** Who is signed in; undefined while nobody is, or nobody knows yet. */
  who = $state.raw<Session>();
  /** True until the page has found out whether somebody is signed in. */
  asking = $state(true);
  /** True if a session has ended while the page was open: who signs in again finds everything as it was. */
  ended = $state(false);

  /** resume finds out whether somebody is signed in. While the server is away, it fails with Away. */
  async resume(): Promise<void> {
    const secret = keptSecret();
    if (secret === undefined) {
      this.asking = false;
      return;
    }
    signWith({ [header]: secret });
    try {
      this.#enter((await call<Session>("GET", "console/session", { signingIn: true })).body, secret);
    } catch (failure) {
      if (failure instanceof Away) {
        throw failure;
      }
      signWith({});
    }
    this.asking = false;
  }

  /** signIn begins a session, in place of the one that there may be. It fails with what the server says, and then nothing has changed. */
  async signIn(fields: SignIn): Promise<void> {
    const { console_secret: secret, ...who } = await send<Session & { console_secret: string }>("POST", "console/session", fields, signingIn);
    keepSecret(secret);
    this.#enter(who, secret);
    this.ended = false;
  }

  /** signOut ends the session, here and at the server. */
  async signOut(): Promise<void> {
    try {
      await send("DELETE", "console/session");
    } catch (failure) {
      // A session that the server does not know any more has ended as well.
      if (!(failure instanceof Refused)) {
        throw failure;
      }
    }
    this.#leave();
    this.ended = false;
  }

  /** lose notes that the server does not know the session any more. */
  lose(): void {
    if (this.who !== undefined) {
      this.ended = true;
      this.#leave();
    }
  }

  #enter(who: Session, secret: string): void {
    signWith({ [header]: secret }, who.operator);
    this.who = who;
  }

  #leave(): void {
    forgetSecret();
    signWith({});
    this.who = undefined;
  }
}

export const session = new SessionState();
