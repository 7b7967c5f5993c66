import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The database under a server. */
export type Engine = "SQLite" | "PostgreSQL";

/** How many of the last lines of its log are shown when a server does not start. */
const shown = 20;

/** A server in a process of its own, with an empty database. */
export class Server {
  private constructor(
    readonly address: string,
    private readonly running: ChildProcess,
    private readonly folder: string,
  ) {}

  /** Starts the program that `run` has named, and returns when it answers. */
  static async start(engine: Engine): Promise<Server> {
    const folder = mkdtempSync(join(process.env["OPENINTENT_TEST_MEMORY"] ?? tmpdir(), "openintent-bar-"));
    const database = engine === "SQLite" ? `sqlite:${join(folder, "openintent.db")}` : newDatabase();
    const addresses = ["--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"];
    const running = spawn(setting("OPENINTENT_TEST_PROGRAM"), ["serve", "--database-url", database, ...addresses, "--log-format", "json"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const kill = (): boolean => running.kill("SIGKILL");
    process.once("exit", kill);
    running.once("exit", () => process.off("exit", kill));
    const address = await listening(running);
    return new Server(address, running, folder);
  }

  async stop(): Promise<void> {
    const ended = once(this.running, "exit");
    this.running.kill("SIGTERM");
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

/** The address at which a server says that it answers gRPC. It goes on reading the log, so that the server can write. */
function listening(running: ChildProcess): Promise<string> {
  const last: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface({ input: running.stderr! }).on("line", (line) => {
      last.push(line);
      last.splice(0, last.length - shown);
      if (line.includes('"msg":"listening"')) {
        resolve((JSON.parse(line) as { grpc: string }).grpc);
      }
    });
    running.once("error", reject);
    running.once("exit", () => reject(new Error(`the server ended instead of listening:\n${last.join("\n")}`)));
  });
}

/** The URL of a new database of the server of PostgreSQL that `OPENINTENT_TEST_POSTGRES` names. */
function newDatabase(): string {
  const server = new URL(setting("OPENINTENT_TEST_POSTGRES"));
  const name = `bar_${randomBytes(6).toString("hex")}`;
  execFileSync("psql", ["--quiet", "--no-psqlrc", server.href, "--command", `CREATE DATABASE ${name}`], { stdio: ["ignore", "ignore", "inherit"] });
  server.pathname = name;
  return server.href;
}

function setting(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is missing: make test-frameworks sets it.`);
  }
  return value;
}
