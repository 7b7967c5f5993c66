/** A mark stands for a name: a colour and, for an agent, a pattern; for a person, letters. The same name has the same mark everywhere. */
export interface Mark {
  /** The hue, in degrees. */
  hue: number;
  /** Which of the cells of a grid of five by five are filled, row by row; its right half mirrors the left one. */
  cells: boolean[];
  /** One or two letters of the name. */
  letters: string;
}

const side = 5;

export function markOf(name: string): Mark {
  const bits = hash(name);
  // Twelve hues are far enough apart to be told from each other.
  const hue = (bits % 12) * 30 + 15;
  const cells: boolean[] = [];
  const half = Math.ceil(side / 2);
  let random = hash("cells of " + name);
  const left: boolean[] = [];
  for (let cell = 0; cell < side * half; cell++) {
    random = step(random);
    left.push((random >>> 16) % 2 === 0);
  }
  // A pattern needs some cells, and some room.
  left[half - 1 + half * 2] = !left[half - 2 + half * 2];
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      const mirrored = column < half ? column : side - 1 - column;
      cells.push(left[row * half + mirrored] ?? false);
    }
  }
  return { hue, cells, letters: lettersOf(name) };
}

/** hash is FNV-1a over the name's UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return step(value);
}

/** step is one step of a xorshift generator. */
function step(value: number): number {
  let next = value || 1;
  next ^= next << 13;
  next ^= next >>> 17;
  next ^= next << 5;
  return next >>> 0;
}

function lettersOf(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const [first, second] = words;
  if (first === undefined) {
    return "?";
  }
  const begin = Array.from(first);
  return (second === undefined ? begin.slice(0, 2).join("") : (begin[0] ?? "") + (Array.from(second)[0] ?? "")).toUpperCase();
}
