import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const sources = fileURLToPath(new URL("../../../src/", import.meta.url));

/** The texts of this package's modules, by their paths. */
function modules(): Map<string, string> {
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  return new Map(files.map((path) => [path.replaceAll("\\", "/"), readFileSync(sources + path, "utf8")]));
}

/** The modules that a module imports or exports from, anywhere in its text, and if only for their types. */
function importsOf(path: string, text: string): string[] {
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) => posix.join(posix.dirname(path), fileName.replace(/\.js$/, ".ts")));
}

/** The modules of a circle, each before the next that it imports, and the first again at the end; or nothing. */
function circleIn(texts: ReadonlyMap<string, string>): string[] {
  const done = new Set<string>();
  const search = (path: string, way: readonly string[]): string[] => {
    const here = [...way, path];
    if (way.includes(path)) {
      return here.slice(way.indexOf(path));
    }
    for (const imported of done.has(path) ? [] : importsOf(path, texts.get(path) ?? "")) {
      const circle = search(imported, here);
      if (circle.length > 0) {
        return circle;
      }
    }
    done.add(path);
    return [];
  };
  return [...texts.keys()].map((path) => search(path, [])).find((circle) => circle.length > 0) ?? [];
}

test("no modules import each other in a circle, not even for their types", () => {
  const texts = modules();
  assert.ok(texts.has("client.ts") && texts.has("rest/transport.ts"), "the modules are found");
  assert.equal(circleIn(texts).join(" imports "), "");
});

test("a circle is found, however it is closed", () => {
  const closings = [
    'import "./first.js";',
    'import { name } from "./first.js";',
    'import type { Name } from "./first.js";',
    'import { type Name } from "../made/first.js";',
    'export * from "./first.js";',
    'export type { Name } from "./first.js";',
    'const first = await import("./first.js");',
    'let name: import("./first.js").Name;',
  ];
  for (const closing of closings) {
    const texts = new Map([
      ["index.ts", 'export * from "./made/first.js";'],
      ["made/first.ts", 'import { other } from "./second.js";\nexport const name = other;'],
      ["made/second.ts", closing],
    ]);
    assert.deepEqual(circleIn(texts), ["made/first.ts", "made/second.ts", "made/first.ts"], closing);
    assert.deepEqual(circleIn(texts.set("made/second.ts", "")), [], closing);
  }
});
