/** timesIn splits a sentence of the server's at the times in it, which are numbers then: the reader sees them in the zone of the place. */
export function timesIn(sentence: string): (string | number)[] {
  const pieces: (string | number)[] = [];
  let from = 0;
  for (const found of sentence.matchAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g)) {
    const time = Date.parse(found[0]);
    if (Number.isNaN(time)) {
      continue;
    }
    pieces.push(sentence.slice(from, found.index), time);
    from = found.index + found[0].length;
  }
  pieces.push(sentence.slice(from));
  return pieces.filter((piece) => piece !== "");
}
