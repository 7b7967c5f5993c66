import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const dist = new URL("../../../dist/", import.meta.url);

/** All modules of a built entry, with what they import from elsewhere. */
function modulesOf(entry: string): { files: Set<string>; foreign: Set<string> } {
  const files = new Set<string>();
  const foreign = new Set<string>();
  const queue = [new URL(entry, dist)];
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    if (files.has(url.href)) {
      continue;
    }
    files.add(url.href);
    const imports = readFileSync(url, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g);
    for (const [, name] of imports) {
      if (name!.startsWith(".")) {
        queue.push(new URL(name!, url));
      } else {
        foreign.add(name!);
      }
    }
  }
  return { files, foreign };
}

test("the REST entry imports nothing but itself, and nothing of Node.js", () => {
  const { files, foreign } = modulesOf("rest.js");
  assert.deepEqual([...foreign], []);
  assert.ok(files.size > 10, "the modules are followed");
  for (const file of files) {
    const code = readFileSync(fileURLToPath(file), "utf8");
    assert.doesNotMatch(code, /\b(Buffer|require|__dirname|setImmediate)\b/, file);
  }
});

test("the Node.js entry has the same client and more", async () => {
  const rest = await import(new URL("rest.js", dist).href);
  const node = await import(new URL("index.js", dist).href);
  for (const name of Object.keys(rest)) {
    assert.ok(name in node, name);
  }
  assert.ok("Agent" in node && "loadWorkflow" in node);
  assert.ok(modulesOf("index.js").foreign.has("@connectrpc/connect-node"));
});

test("an adapter without its framework says in one sentence what to install", async () => {
  const missing = { ai: "ai@7", langchain: "langchain@1 @langchain/core@1 @langchain/langgraph@1", mastra: "@mastra/core@1" };
  for (const [adapter, packages] of Object.entries(missing)) {
    const { tools } = await import(new URL(`${adapter}.js`, dist).href);
    const message = `@openintent/channels/${adapter} needs its framework: npm install ${packages}`;
    await assert.rejects(tools({ tools: () => [] }), { message });
  }
});
