import assert from "node:assert/strict";
import { test } from "node:test";

import { Keyboard, letters, linesOf, type Pressed } from "../src/state/keyboard.ts";

/** press presses keys one after the other, a tenth of a second apart, and returns what the last one means. */
function press(keys: string[], more: Partial<Pressed> = {}) {
  const keyboard = new Keyboard();
  const means = keys.map((key, place) =>
    keyboard.press({ key, ctrlKey: false, metaKey: false, altKey: false, timeStamp: 1000 + place * 100, ...more }),
  );
  return means.at(-1);
}

test("a key means one thing", () => {
  assert.equal(press(["j"]), "next");
  assert.equal(press(["k"]), "previous");
  assert.equal(press(["/"]), "search");
  assert.equal(press(["?"]), "help");
  for (const key of ["x", "J", "Enter", "constructor", "ArrowDown"]) {
    assert.equal(press([key]), undefined, key);
  }
});

test("g and a letter open a page", () => {
  for (const [letter, page] of Object.entries(letters)) {
    assert.deepEqual(press(["g", letter]), { go: page });
  }
  assert.equal(press(["g"]), undefined);
  assert.equal(press(["g", "x"]), undefined);
  assert.equal(press(["g", "x", "i"]), undefined, "another key has ended it");
  assert.equal(press(["g", "j"]), "next");
  assert.deepEqual(press(["g", "g", "i"]), { go: "intents" });
  assert.equal(press(["i"]), undefined);
});

test("a letter that comes long after g opens nothing", () => {
  const keyboard = new Keyboard();
  const at = (key: string, timeStamp: number) => keyboard.press({ key, ctrlKey: false, metaKey: false, altKey: false, timeStamp });
  at("g", 1000);
  assert.equal(at("i", 3001), undefined);
  at("g", 4000);
  keyboard.forget();
  assert.equal(at("i", 4001), undefined, "somebody has written meanwhile");
});

test("keys together with Ctrl, Meta or Alt are the browser's", () => {
  for (const held of ["ctrlKey", "metaKey", "altKey"]) {
    for (const keys of [["j"], ["k"], ["/"], ["?"], ["g", "i"]]) {
      assert.equal(press(keys, { [held]: true }), undefined, `${held} ${keys}`);
    }
  }
});

test("the help lists the keys of the page", () => {
  const places = [
    { page: "needs", label: "What needs you" },
    { page: "keys", label: "Keys" },
  ] as const;
  const words = (page: Parameters<typeof linesOf>[0]) => linesOf(page, places).map(({ title, lines }) => `${title}: ${lines.map(({ keys, does }) => `${keys.join(" ")} ${does}`).join("; ")}`);
  assert.deepEqual(words("channel"), [
    "On this page: j Next message; k Previous message; Enter Open the thread; Ctrl Enter Send, while you write",
    "Everywhere: / Search; ? Show this help; Esc Close what is open",
    "Go to: g n What needs you; g k Keys",
  ]);
  assert.equal(words("server").length, 2, "a page without a list has no keys of its own");
});
