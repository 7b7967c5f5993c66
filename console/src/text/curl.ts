import { rawMember } from "./raw.ts";
import { quoted } from "./shell.ts";

/** What of a message a command needs that sends the same again. */
interface Sent {
  channel_id: string;
  message_type: string;
  correlation_id: string | null;
  to: string | null;
  subject?: string;
  kind?: string;
  priority?: string;
}

/**
 * curlOf writes the command that sends a message again, with its payload as it stands in the server's answer. The key comes from the
 * environment, so that the command can be passed on.
 */
export function curlOf(source: string, message: Sent, api: string, agent: string): string {
  const payload = rawMember(source, "payload") ?? "{}";
  const fields: string[] = [];
  let path = `/channels/${encodeURIComponent(message.channel_id)}/messages`;
  if (message.message_type === "response" && message.correlation_id !== null) {
    path += `/${encodeURIComponent(message.correlation_id)}/reply`;
  } else {
    fields.push(`"message_type": ${JSON.stringify(message.message_type)}`);
    if (message.to !== null) {
      fields.push(`"to": ${JSON.stringify(message.to)}`);
    }
  }
  for (const name of ["subject", "kind", "priority"] as const) {
    if (message[name] !== undefined) {
      fields.push(`"${name}": ${JSON.stringify(message[name])}`);
    }
  }
  fields.push(`"payload": ${payload}`);
  const lines = [`curl -sS ${quoted(api + path)}`, `  -H "X-API-Key: $OPENINTENT_API_KEY"`];
  if (agent !== "") {
    lines.push(`  -H ${quoted("X-Agent-ID: " + agent)}`);
  }
  lines.push(`  -d ${quoted(`{${fields.join(", ")}}`)}`);
  return lines.join(" \\\n");
}
