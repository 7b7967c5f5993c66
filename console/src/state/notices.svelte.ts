import { Away, Refused } from "../client/refusal.ts";

/** How long a notice stays, in milliseconds. */
const shown = 6000;

/** Notice is one sentence about something that was just done, or could not be done. */
export interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

class Notices {
  list = $state.raw<Notice[]>([]);
  #next = 1;

  say(text: string, bad = false): void {
    const notice = { id: this.#next++, text, bad };
    // The newest few are enough, and none of them twice.
    this.list = [...this.list.filter((one) => one.text !== text), notice].slice(-3);
    setTimeout(() => this.drop(notice.id), bad ? 2 * shown : shown);
  }

  drop(id: number): void {
    this.list = this.list.filter((one) => one.id !== id);
  }

  /** orSay does something, and says why if the server refuses it or is away. It reports whether it was done. */
  async orSay(what: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (failure) {
      if (failure instanceof Refused) {
        this.say(`${what} ${failure.detail}`, true);
      } else if (failure instanceof Away) {
        this.say(`${what} The server does not answer.`, true);
      } else {
        throw failure;
      }
      return false;
    }
  }
}

export const notices = new Notices();
