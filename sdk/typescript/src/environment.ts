/** A variable of the process's environment; undefined in browsers, and when it is empty. */
export function environment(name: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env?.[name] || undefined;
}

/** Where the page is that this code runs in; undefined outside of browsers. */
export function page(): URL | undefined {
  const href = (globalThis as { location?: { href?: string } }).location?.href;
  return href === undefined ? undefined : new URL(href);
}
