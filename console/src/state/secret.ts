// The session's secret lies in the storage of this origin, which other ports and other sites cannot read, so that every tab has it.
// A browser that keeps nothing gets a session for as long as the page is open.

const place = "openintent-console-secret";
let held: string | undefined;

export function keptSecret(): string | undefined {
  try {
    return localStorage.getItem(place) ?? held;
  } catch {
    return held;
  }
}

export function keepSecret(secret: string): void {
  held = secret;
  try {
    localStorage.setItem(place, secret);
  } catch {
    // Then it is kept in this page alone.
  }
}

export function forgetSecret(): void {
  held = undefined;
  try {
    localStorage.removeItem(place);
  } catch {
    // Nothing was kept.
  }
}
