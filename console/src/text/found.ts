/** A piece of a text in which words were looked for. */
export interface FoundPiece {
  text: string;
  found: boolean;
}

// As the search's index has them: in some scripts each sign is a word, in all others words are letters and digits that stand together.
const signs = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}";
const word = new RegExp(`[${signs}]|(?:(?![${signs}])[\\p{L}\\p{N}\\p{M}])+`, "gu");

/** wordsIn are the different words of a text, in lower case. */
export function wordsIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(word), (found) => found[0].toLowerCase()));
}

/** foundIn splits a text so that the words that were looked for stand alone. */
export function foundIn(text: string, sought: ReadonlySet<string>): FoundPiece[] {
  const pieces: FoundPiece[] = [];
  let from = 0;
  for (const { 0: one, index } of text.matchAll(word)) {
    if (!sought.has(one.toLowerCase())) {
      continue;
    }
    if (index > from) {
      pieces.push({ text: text.slice(from, index), found: false });
    }
    pieces.push({ text: one, found: true });
    from = index + one.length;
  }
  if (from < text.length) {
    pieces.push({ text: text.slice(from), found: false });
  }
  return pieces;
}
