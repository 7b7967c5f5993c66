import type { Figure } from "../../client/server.ts";

/** A figure as the page shows it. */
export interface Line {
  /** The metric's name. */
  name: string;
  words: string;
  value: string;
  /** How fast it rises; empty if it does not. */
  rate: string;
  /** True for what should be zero and is not. */
  bad: boolean;
}

export interface Group {
  title: string;
  lines: Line[];
}

interface Known {
  name: string;
  words: string;
  /** Anything but zero needs somebody. */
  zero?: boolean;
}

const groups: { title: string; figures: Known[] }[] = [
  {
    title: "Calls",
    figures: [
      { name: "requests_total", words: "Finished calls" },
      { name: "requests_in_flight", words: "Running calls" },
      { name: "request_duration_seconds_sum", words: "Seconds spent in calls" },
      { name: "door_requests_total", words: "Requests at the doors" },
      { name: "streams_open", words: "Open streams" },
    ],
  },
  {
    title: "Messages",
    figures: [
      { name: "write_batch_messages_sum", words: "Stored messages" },
      { name: "write_batch_messages_count", words: "Commits" },
      { name: "write_batches_at_once_total", words: "Commits in one round trip" },
      { name: "write_queue_messages", words: "Messages that wait to be stored" },
      { name: "write_intents_aside", words: "Intents that wait for another server" },
      { name: "notifications_total", words: "Notifications between servers" },
    ],
  },
  {
    title: "Reads and search",
    figures: [
      { name: "reads_waiting", words: "Reads that wait for their turn" },
      { name: "large_reads_waiting", words: "Large reads that wait for their turn" },
      { name: "search_indexed_total", words: "Messages put into the search index" },
      { name: "search_behind_entries", words: "Entries that the search index lacks" },
    ],
  },
  {
    title: "Trouble",
    figures: [
      { name: "lost_entries_total", words: "Entries that the database has lost", zero: true },
      { name: "write_refused_total", words: "Messages refused before the queue", zero: true },
      { name: "clock_behind_log_total", words: "Commits while the clock was behind", zero: true },
    ],
  },
];

const prefix = "openintent_";
/** The number of durations is that of the calls, which is shown already. */
const unshown = new Set(["request_duration_seconds_count"]);

/** groupsOf orders figures for people. A figure that the page does not know stands at the end, under its own name. */
export function groupsOf(figures: readonly Figure[]): Group[] {
  const left = new Map(figures.map((figure) => [figure.name.replace(prefix, ""), figure]));
  unshown.forEach((name) => left.delete(name));
  const shown = groups.map(({ title, figures: known }) => ({
    title,
    lines: known.flatMap(({ name, words, zero = false }) => {
      const figure = left.get(name);
      left.delete(name);
      return figure ? [lineOf(figure, words, zero)] : [];
    }),
  }));
  const others = [...left].map(([name, figure]) => lineOf(figure, name.replaceAll("_", " "), false));
  return [...shown, { title: "Others", lines: others }].filter((group) => group.lines.length > 0);
}

function lineOf(figure: Figure, words: string, zero: boolean): Line {
  return {
    name: figure.name,
    words,
    value: amount(figure.value),
    rate: amount(figure.per_second ?? 0) === "0" ? "" : `${amount(figure.per_second ?? 0)}/s`,
    bad: zero && figure.value > 0,
  };
}

/** amount writes a number with as many digits as somebody can use. */
export function amount(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-GB", { maximumFractionDigits: digits });
}

/** Headline is one of the few numbers that say how a server does. */
export interface Headline {
  label: string;
  value: string;
}

/** headlinesOf are the numbers that say how the server does now. */
export function headlinesOf(figures: readonly Figure[]): Headline[] {
  const by = new Map(figures.map((figure) => [figure.name.replace(prefix, ""), figure]));
  const rate = (name: string) => by.get(name)?.per_second ?? 0;
  const durations = rate("request_duration_seconds_count");
  return [
    { label: "Calls a second", value: amount(rate("requests_total")) },
    { label: "Mean time of a call", value: durations > 0 ? `${amount((1000 * rate("request_duration_seconds_sum")) / durations)} ms` : "–" },
    { label: "Messages a second", value: amount(rate("write_batch_messages_sum")) },
    { label: "Open streams", value: amount(by.get("streams_open")?.value ?? 0) },
    { label: "Wait to be stored", value: amount(by.get("write_queue_messages")?.value ?? 0) },
  ];
}
