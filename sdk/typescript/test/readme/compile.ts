import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocks, compiled, packageFolder, userFolder } from "./snippets.js";

// This program compiles the snippets of the README under strict rules. It fails when one of them does not compile.

const compiler = join(packageFolder, "node_modules", "typescript", "bin", "tsc");
const types = join(packageFolder, "node_modules", "@types");
const rules = ["--strict", "--target", "es2022", "--module", "nodenext", "--typeRoots", types, "--types", "node"];

const folder = userFolder();
try {
  const files = blocks("ts").map((code, i) => {
    writeFileSync(join(folder, `snippet${i}.ts`), code);
    return `snippet${i}.ts`;
  });
  execFileSync(process.execPath, [compiler, ...rules, "--outDir", compiled, ...files], { cwd: folder, stdio: "inherit" });
} finally {
  rmSync(folder, { recursive: true });
}
