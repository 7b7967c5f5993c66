import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { turn } from "./moved-clock.js";

/** How long a server may take to start, in milliseconds. */
const startsWithin = 30_000;

/** The server of a test was not found, did not start, or refused a call of the test kit. */
export class ServerError extends Error {}

/**
 * Returns the path of the server's program: the one that OPENINTENT_PROGRAM names, that of the installed package `@openintent/server`, or
 * `openintentd` or `openintent` on the PATH. @throws ServerError without any
 */
export function findProgram(): string {
  const named = process.env["OPENINTENT_PROGRAM"];
  if (named) {
    const found = named.includes("/") ? runnable(named) : onPath(named);
    if (found === undefined) {
      throw new ServerError(`OPENINTENT_PROGRAM must name the server's program, and ${named} is none that can be run`);
    }
    return found;
  }
  const found = installed() ?? onPath("openintentd") ?? onPath("openintent");
  if (found === undefined) {
    throw new ServerError(
      "the server's program was not found: install the package @openintent/server, put openintent on the PATH, " +
        "or name the program in OPENINTENT_PROGRAM",
    );
  }
  return found;
}

/** The program of the package for this system, which lies beside the project's or this package's other dependencies. */
function installed(): string | undefined {
  const program = process.platform === "win32" ? "openintent.exe" : "openintent";
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    try {
      const manifest = createRequire(from).resolve(`@openintent/server-${process.platform}-${process.arch}/package.json`);
      return runnable(join(dirname(manifest), "bin", program));
    } catch {
      continue; // It is not installed there.
    }
  }
  return undefined;
}

function onPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => runnable(join(folder, name))).find((path) => path !== undefined);
}

function runnable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/** A server that runs for a test, on free ports and a database of its own. */
export class Program {
  http = "";
  grpc = "";
  readonly #folder = mkdtempSync(join(tmpdir(), "openintent-test-"));
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;
  #ended = false;

  private constructor(options: readonly string[]) {
    const log = openSync(this.#logFile, "w");
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("OPENINTENT_"));
    const flags = [
      ...["serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--log-format=text", "--until-input-ends"],
      `--ready-file=${this.#readyFile}`,
    ];
    this.#process = spawn(findProgram(), [...flags, ...options], {
      cwd: this.#folder,
      env: { ...Object.fromEntries(own), TMPDIR: this.#folder },
      // The server's input ends with this process, however that ends, and then the server ends, too.
      stdio: ["pipe", log, log],
    });
    closeSync(log);
    this.#exited = new Promise((resolve) => {
      for (const end of ["exit", "error"]) {
        this.#process.once(end, () => {
          this.#ended = true;
          resolve();
        });
      }
    });
    process.once("exit", this.#kill);
  }

  /** Starts a server, and waits until it answers. @throws ServerError if it is not found, or does not start */
  static async start(options: readonly string[]): Promise<Program> {
    const program = new Program(options);
    for (const end = Date.now() + startsWithin; !existsSync(program.#readyFile); await turn(2)) {
      if (program.#ended || Date.now() > end) {
        const said = program.log;
        await program.stop();
        throw new ServerError(`the server did not start; it said:\n${said}`);
      }
    }
    ({ http: program.http, grpc: program.grpc } = JSON.parse(readFileSync(program.#readyFile, "utf8")));
    return program;
  }

  /** What the server has said. */
  get log(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, "utf8") : "";
  }

  /** Ends the server, and removes all that it wrote. Nobody needs its database any more. */
  async stop(): Promise<void> {
    process.off("exit", this.#kill);
    this.#kill();
    await this.#exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #kill = (): void => void this.#process.kill("SIGKILL");

  get #logFile(): string {
    return join(this.#folder, "log");
  }

  get #readyFile(): string {
    return join(this.#folder, "ready.json");
  }
}
