const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** ago says how long ago something was, as shortly as that can be said: `now`, `12s ago`, `3h ago`, `6w ago`. */
export function ago(then: number, now: number): string {
  const passed = now - then;
  if (passed < 5 * second) {
    return "now";
  }
  return `${brief(passed)} ago`;
}

/** brief writes a duration with its largest unit alone. */
export function brief(duration: number): string {
  if (duration < minute) {
    return `${Math.floor(duration / second)}s`;
  }
  if (duration < hour) {
    return `${Math.floor(duration / minute)}m`;
  }
  if (duration < day) {
    return `${Math.floor(duration / hour)}h`;
  }
  return duration < 14 * day ? `${Math.floor(duration / day)}d` : `${Math.floor(duration / (7 * day))}w`;
}

/** long writes a duration in two units: `3 h 20 min`. Below a minute it has seconds, and tenths below ten of them. */
export function long(duration: number): string {
  if (duration < second) {
    return `${Math.max(0, Math.round(duration))} ms`;
  }
  if (duration < 10 * second) {
    return `${(Math.floor(duration / 100) / 10).toFixed(1)} s`;
  }
  if (duration < minute) {
    return `${Math.floor(duration / second)} s`;
  }
  const pairs: [number, string, number, string][] = [
    [day, "d", hour, "h"],
    [hour, "h", minute, "min"],
    [minute, "min", second, "s"],
  ];
  for (const [large, largeName, small, smallName] of pairs) {
    if (duration >= large) {
      const rest = Math.floor((duration % large) / small);
      return `${Math.floor(duration / large)} ${largeName}` + (rest > 0 ? ` ${rest} ${smallName}` : "");
    }
  }
  return "";
}

/** left writes the time that is left: `2 h 10 min`, `57 min`, and below ten minutes as a clock does, `4:05`. */
export function left(duration: number): string {
  if (duration >= hour) {
    return long(duration);
  }
  if (duration >= 10 * minute) {
    return `${Math.floor(duration / minute)} min`;
  }
  const seconds = Math.max(0, Math.ceil(duration / second));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// The reader's own language would mix with the page's English, so dates are written in English, in the reader's zone, with 24 hours.
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockToSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });
const dateWithYear = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const shortDate = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const exactly = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
});

export function clockTime(time: number): string {
  return clock.format(time);
}

/** clockWithSeconds is a time of day to the second. */
export function clockWithSeconds(time: number): string {
  return clockToSeconds.format(time);
}

/** exact is a time with everything that is known of it. */
export function exact(time: number): string {
  return exactly.format(time);
}

/** dayOf names the reader's day of a time: equal for two times of one day, and different for others. */
export function dayOf(time: number): string {
  const at = new Date(time);
  return `${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()}`;
}

/** dayName is the day of a time in words. */
export function dayName(time: number, now: number): string {
  if (dayOf(time) === dayOf(now)) {
    return "Today";
  }
  if (dayOf(time) === dayOf(now - day)) {
    return "Yesterday";
  }
  return new Date(time).getFullYear() === new Date(now).getFullYear() ? date.format(time) : dateWithYear.format(time);
}

/** dayAndClock is a time of day, with its day unless that is today. */
export function dayAndClock(time: number, now: number): string {
  return dayOf(time) === dayOf(now) ? clock.format(time) : `${shortDate.format(time)}, ${clock.format(time)}`;
}
