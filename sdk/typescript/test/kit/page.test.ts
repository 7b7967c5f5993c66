import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const page = fileURLToPath(new URL("../../../../../docs/testing.md", import.meta.url));

test("the test that docs/testing.md shows passes", () => {
  const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync(page, "utf8"))!;
  // Within the package, which finds itself under its name.
  const file = fileURLToPath(new URL("./page-shown.mjs", import.meta.url));
  writeFileSync(file, shown!);
  try {
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env; // It is a run of its own.
    const ran = spawnSync(process.execPath, ["--test", file], { encoding: "utf8", env: environment });
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /pass 1\b/);
  } finally {
    rmSync(file);
  }
});
