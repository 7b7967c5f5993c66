import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { MemorySaver } from "@langchain/langgraph";

type Arguments<Name extends "put" | "putWrites"> = Parameters<MemorySaver[Name]>;

/** LangGraph's checkpointer in memory, which keeps a copy of what it has in a file. Those that come with a database are built by compilers. */
export class FileSaver extends MemorySaver {
  constructor(private readonly file: string) {
    super();
    try {
      const { storage, writes } = JSON.parse(readFileSync(file, "utf8"), revived) as Pick<MemorySaver, "storage" | "writes">;
      Object.assign(this, { storage, writes });
    } catch {
      // Nothing is kept yet.
    }
  }

  override async put(...given: Arguments<"put">): ReturnType<MemorySaver["put"]> {
    const config = await super.put(...given);
    this.#keep();
    return config;
  }

  override async putWrites(...given: Arguments<"putWrites">): Promise<void> {
    await super.putWrites(...given);
    this.#keep();
  }

  #keep(): void {
    const bytes = (_: string, value: unknown): unknown => (value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value);
    writeFileSync(`${this.file}.new`, JSON.stringify({ storage: this.storage, writes: this.writes }, bytes));
    renameSync(`${this.file}.new`, this.file);
  }
}

function revived(_: string, value: unknown): unknown {
  const bytes = (value as { bytes?: unknown } | null)?.bytes;
  return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value;
}
