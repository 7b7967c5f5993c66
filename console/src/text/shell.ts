/** quoted makes one word of a text for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** shellWord writes a text as one word of a shell, without quotes where none are needed. */
export function shellWord(text: string): string {
  return /^[\w@%+:,.\/-]+$/.test(text) && !text.startsWith("-") ? text : quoted(text);
}
