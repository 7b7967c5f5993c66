import { quoted, shellWord } from "../../text/shell.ts";

/** What starts a turn of an agent, by the harness in which it runs. docs/doors/mcp.md has the same commands. */
export const harnesses = [
  ["Codex", 'codex exec resume --last "Read your inbox on openintent."'],
  ["OpenCode", 'opencode run --continue "Read your inbox on openintent."'],
  ["Gemini CLI", 'gemini --resume latest --prompt "Read your inbox on openintent."'],
  ["Qwen Code", 'qwen --continue --prompt "Read your inbox on openintent."'],
  ["Copilot CLI", 'copilot --continue --allow-tool openintent --prompt "Read your inbox on openintent."'],
  ["Claude Code", ""],
  ["Something else", "./wake-it.sh"],
] as const;

/** wakeCommand is the command that wakes an agent whenever something waits for it. Within a session of Claude Code it needs no command of its own. */
export function wakeCommand(agent: string, exec: string): string {
  const command = `openintent wake --agent ${shellWord(agent)}`;
  return exec === "" ? command : `${command} --exec ${quoted(exec)}`;
}

/** doctorCommand is the command that says what is in the way of an agent's messages. */
export function doctorCommand(agent: string): string {
  return `openintent doctor --agent ${shellWord(agent)}`;
}
