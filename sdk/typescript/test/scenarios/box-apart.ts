import { createInterface } from "node:readline";
import { Box, type BoxOptions } from "./box.js";

// The program of a mailbox in a process of its own: it does what is asked on standard input, until that ends.

let box: Box | null = null;

for await (const line of createInterface({ input: process.stdin })) {
  const { what, fields } = JSON.parse(line) as { what: string; fields: Record<string, any> };
  let answer: Record<string, unknown>;
  try {
    if (what === "open") {
      box = await Box.open(fields as unknown as BoxOptions);
      answer = { result: null };
    } else {
      answer = { result: (await box!.perform(what, fields)) ?? null };
    }
  } catch (error) {
    answer = { failed: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
