/** A piece of a text: what can be shown as it is, or the code of a sign that would be invisible or would disturb what stands around it. */
export type Piece = { text: string } | { code: string; name: string };

/** Signs that change the direction of what follows, join or split words unseen, or belong to no text. */
const named: Record<number, string> = {
  0x00ad: "soft hyphen",
  0x061c: "Arabic letter mark",
  0x180e: "Mongolian vowel separator",
  0x200b: "zero width space",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of direction",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of isolate",
  0xfeff: "byte order mark",
  0xfffc: "object replacement",
};

// Control characters except tab and newline, the signs above, lone surrogates, tags and private use. The joiners of emoji and of some scripts
// (U+200C, U+200D) and variation selectors stay, because texts need them.
const strange =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]|[\u{e0000}-\u{e00ff}]|\p{Cs}|\p{Co}/gu;

/**
 * piecesOf splits a text so that every sign in it can be seen. A carriage return before a newline is part of the line's end. After so many
 * pieces, the rest is one text that has the codes in brackets, because a page of many thousand elements is slow.
 */
export function piecesOf(text: string, most = Infinity): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(strange)) {
    if (pieces.length >= most) {
      break;
    }
    if (found[0] === "\r" && text[found.index + 1] === "\n") {
      continue;
    }
    if (found.index > from) {
      pieces.push({ text: text.slice(from, found.index) });
    }
    const point = found[0].codePointAt(0) ?? 0;
    pieces.push({ code: codeOf(point), name: named[point] ?? kindOf(point) });
    from = found.index + found[0].length;
  }
  if (from < text.length) {
    pieces.push({ text: bracketed(text.slice(from)) });
  }
  return pieces;
}

/** bracketed writes signs that would be invisible as their codes in brackets. */
function bracketed(text: string): string {
  return text.replace(strange, (sign, place: number) => (sign === "\r" && text[place + 1] === "\n" ? sign : `[${codeOf(sign.codePointAt(0) ?? 0)}]`));
}

function codeOf(point: number): string {
  return "U+" + point.toString(16).toUpperCase().padStart(4, "0");
}

function kindOf(point: number): string {
  if (point < 0xa0) {
    return "control character";
  }
  if (point >= 0xd800 && point <= 0xdfff) {
    return "half of a sign";
  }
  return "invisible sign";
}

/** plain makes a text of one line for places that show nothing but text, such as the page's title. */
export function plain(text: string, most = 200): string {
  const line = piecesOf(text)
    .map((piece) => ("text" in piece ? piece.text : ""))
    .join("")
    .replace(/\s+/g, " ")
    .trim();
  const signs = Array.from(line);
  return signs.length > most ? signs.slice(0, most - 1).join("") + "…" : line;
}

/** beginning returns the first lines and signs of a long text, never half of a sign, and whether it left something out. */
export function beginning(text: string, lines: number, signs: number): { text: string; cut: boolean } {
  let end = text.length;
  let at = -1;
  for (let line = 0; line < lines; line++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) {
      break;
    }
  }
  if (at >= 0 && at < text.length - 1) {
    end = at;
  }
  if (end > signs) {
    end = signs;
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      end--;
    }
  }
  return { text: text.slice(0, end), cut: end < text.length };
}
