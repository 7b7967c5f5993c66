/**
 * rawMember returns the text of one member of a JSON object as it stands in the source, byte for byte: a payload is copied as the server
 * sent it, and not as a parser would write it again. It returns undefined if the source is no object or has no such member.
 */
export function rawMember(source: string, name: string): string | undefined {
  let at = skipSpace(source, 0);
  if (source[at] !== "{") {
    return undefined;
  }
  at = skipSpace(source, at + 1);
  while (source[at] === '"') {
    const keyEnd = skipString(source, at);
    const key: unknown = JSON.parse(source.slice(at, keyEnd));
    at = skipSpace(source, keyEnd);
    if (source[at] !== ":") {
      return undefined;
    }
    const begin = skipSpace(source, at + 1);
    const end = skipValue(source, begin);
    if (key === name) {
      return source.slice(begin, end);
    }
    at = skipSpace(source, end);
    if (source[at] !== ",") {
      return undefined;
    }
    at = skipSpace(source, at + 1);
  }
  return undefined;
}

function skipSpace(source: string, at: number): number {
  while (at < source.length && " \t\n\r".includes(source.charAt(at))) {
    at++;
  }
  return at;
}

/** skipString returns the place after a string that begins at a quote. */
function skipString(source: string, at: number): number {
  for (let i = at + 1; i < source.length; i++) {
    if (source[i] === "\\") {
      i++;
    } else if (source[i] === '"') {
      return i + 1;
    }
  }
  return source.length;
}

/** skipValue returns the place after a value. The source is valid JSON, so only strings and brackets count. */
function skipValue(source: string, at: number): number {
  let depth = 0;
  for (let i = at; i < source.length; ) {
    const sign = source.charAt(i);
    if (sign === '"') {
      i = skipString(source, i);
      if (depth === 0) {
        return i;
      }
      continue;
    }
    if (sign === "{" || sign === "[") {
      depth++;
    } else if (sign === "}" || sign === "]") {
      if (depth === 0) {
        return i;
      }
      depth--;
      if (depth === 0) {
        return i + 1;
      }
    } else if (depth === 0 && (sign === "," || " \t\n\r".includes(sign))) {
      return i;
    }
    i++;
  }
  return source.length;
}
