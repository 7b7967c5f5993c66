/** A variable of the process's environment; undefined in browsers, and when it is empty. */
export function environment(name: string): string | undefined {
  return environmentOf()[name] || undefined;
}

/** The process's environment; empty in browsers. */
export function environmentOf(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}

/** Where the page is that this code runs in; undefined outside of browsers. */
export function page(): URL | undefined {
  const href = (globalThis as { location?: { href?: string } }).location?.href;
  return href === undefined ? undefined : new URL(href);
}
