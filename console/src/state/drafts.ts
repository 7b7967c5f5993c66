// What somebody has begun to write and has not sent. It is the only state that no address has; it survives the page and the session, in this
// browser, for the one who wrote it.

const prefix = "openintent-console-draft ";

/** A place in which somebody writes, such as a channel. */
export interface Place {
  agent: string;
  /** What is written: `message chan_1` or `answer msg_1`. */
  what: string;
}

export function draft(place: Place): string {
  try {
    return localStorage.getItem(nameOf(place)) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(place: Place, text: string): void {
  try {
    if (text === "") {
      localStorage.removeItem(nameOf(place));
    } else {
      localStorage.setItem(nameOf(place), text);
    }
  } catch {
    // A browser that keeps nothing keeps no drafts.
  }
}

function nameOf(place: Place): string {
  return `${prefix}${place.agent} ${place.what}`;
}
