/** size writes a number of bytes: `214 B`, `3.4 KiB`, `1.2 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) {
    return `${bytes} B`;
  }
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KiB"] : [bytes / (1024 * 1024), "MiB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** count writes a number with its noun. */
export function count(number: number, one: string, many = one + "s"): string {
  return `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;
}

/** How many signs of a long text are shown with each click. */
export const portion = 32_000;
