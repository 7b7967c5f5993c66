/** cursorIn finds the cursor of the next page in the header Link. */
export function cursorIn(link: string | null): string | undefined {
  for (const one of (link ?? "").split(",")) {
    const [, address = "", parameters = ""] = /^\s*<([^>]*)>(.*)$/.exec(one) ?? [];
    if (/;\s*rel="next"/.test(parameters)) {
      return new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined;
    }
  }
  return undefined;
}
