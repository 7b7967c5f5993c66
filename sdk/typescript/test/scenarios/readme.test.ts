import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { blocks, compiled, userFolder } from "../readme/snippets.js";

// The snippets of the README, which were compiled with the tests, run against the stage's server.

const run = promisify(execFile);
const folder = userFolder();
after(() => rmSync(folder, { recursive: true }));

/** Replaces the README's addresses with those of the stage. */
function staged(code: string): string {
  const { OPENINTENT_SERVER: server, OPENINTENT_URL: url, OPENINTENT_API_KEY: key } = process.env;
  return code
    .replaceAll("127.0.0.1:50051", server!)
    .replaceAll("http://127.0.0.1:8000", url!)
    .replaceAll("dev-key-001", key!);
}

const expected: [string, RegExp][] = [
  ["first ask", /^Which schema\? v2\.3$/m],
  ["talking", /writer \{ (section: 1, state: 'drafted'|state: 'drafted', section: 1) \}\nwriter \{ state: 'going home' \}/],
  ["leases", /^true$/m],
  [
    "agents",
    /^agent reviewer-1 is connected to \S+ and receives\n.* is leaving and waits for 0 running handlers\n.* has left\n$/,
  ],
  ["conversation", /^\[ 'writer' \] \[[\s\S]*signal: 'working'[\s\S]*\]\nothers leave it to this program \d+ false$/m],
  ["errors", /^NOT_FOUND CHANNEL_NOT_FOUND /m],
  ["browsers", /\{ percent: 100 \}/],
  ["typed payloads", /^orders-2$/m],
  ["workflow files", /\[ 'sections' \]/],
];

test("the README's snippets run", { timeout: 120_000 }, async (context) => {
  writeFileSync(join(folder, "workflow.yaml"), blocks("yaml")[0]!);
  assert.equal(blocks("ts").length, expected.length);
  for (const [i, [name, output]] of expected.entries()) {
    await context.test(name, async () => {
      writeFileSync(join(folder, `snippet${i}.js`), staged(readFileSync(join(compiled, `snippet${i}.js`), "utf8")));
      assert.match(name === "agents" ? await leaveOnSignal(`snippet${i}.js`) : await outputOf(`snippet${i}.js`), output);
    });
  }
});

/** What a program prints. It must end by itself, and succeed. */
async function outputOf(file: string): Promise<string> {
  const { stdout } = await run(process.execPath, [file], { cwd: folder });
  return stdout;
}

/** Runs a program that ends on SIGTERM, which it gets once its agent says that it receives. */
async function leaveOnSignal(file: string): Promise<string> {
  const program = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  program.stdout.on("data", (text) => {
    output += text;
    if (output.includes("and receives") && !program.killed) {
      program.kill("SIGTERM");
    }
  });
  const code = await new Promise<number | null>((resolve) => program.once("close", resolve));
  assert.equal(code, 0, output);
  const { OPENINTENT_URL: url, OPENINTENT_API_KEY: key } = process.env;
  const record = await fetch(`${url}/v1/agents/reviewer-1`, { headers: { "x-api-key": key! } });
  assert.equal(((await record.json()) as { status: string }).status, "draining");
  return output;
}
