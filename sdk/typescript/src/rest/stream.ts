import { linkedAbort } from "../clock.js";
import { connectionLost, errorFrom } from "../errors.js";
import type { Place } from "../server-away.js";
import type { Settings } from "../settings.js";
import type { Followed, FollowAttempt } from "../transport.js";
import { toMessage } from "./convert.js";
import { annotationTypes, toAnnotation, toAttention } from "./conversation-convert.js";
import { EventReader, type StreamEvent } from "./events.js";
import { fetchError, problemError } from "./failure.js";

/** How long a stream may be silent before it counts as lost, in milliseconds; the server sends a comment every 15 s. */
const longestSilence = 45_000;

/**
 * Reads a channel's server-sent events until the stream says why it ended, and throws that. `open` makes the request and
 * returns its answer, whose body is read. A silent stream is given up.
 */
export async function* readStream(
  place: Place & Pick<Settings, "clock">,
  attempt: FollowAttempt,
  open: (signal: AbortSignal) => Promise<Response>,
): AsyncGenerator<Followed, void> {
  const { clock } = place;
  const linked = linkedAbort(attempt.signal);
  let stop = (): void => {};
  const heard = (): void => {
    stop();
    stop = clock.after(longestSilence, () => linked.abort(connectionLost("The stream fell silent.")));
  };
  try {
    heard();
    const body = (await open(linked.signal)).body;
    if (body === null) {
      throw connectionLost("The stream has no body.");
    }
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const events = new EventReader();
    let begun = false;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        throw connectionLost("The stream ended without a reason.");
      }
      heard();
      for (const event of events.push(decoder.decode(value, { stream: true }))) {
        if (!begun && event.id !== undefined) {
          begun = true;
          attempt.accepted(Number(event.id));
        }
        yield* followedBy(event);
      }
    }
  } catch (thrown) {
    throw fetchError(thrown, linked.signal, place);
  } finally {
    stop();
    linked.abort();
    linked.release();
  }
}

/** Yields what an event brings to a follower of the channel. @throws the failure that it reports. */
function* followedBy({ id, event, data }: StreamEvent): Generator<Followed, void> {
  const position = Number(id ?? NaN);
  switch (event) {
    case "":
      yield { position, message: null };
      break;
    case "channel_message": {
      const wire = JSON.parse(data);
      const place = { intentId: wire["intent_id"], channelName: wire["channel_name"], position };
      const attention = toAttention(wire["attention"]);
      yield { position, message: { ...toMessage(wire), ...place, attention } };
      break;
    }
    case "channel_closed":
      throw errorFrom({ code: "FAILED_PRECONDITION", reason: "CHANNEL_CLOSED", message: "The channel is closed." });
    case "error": {
      const problem = JSON.parse(data);
      throw problemError(Number(problem["status"]), problem, null);
    }
    default:
      if (annotationTypes.has(event)) {
        yield { position, message: null, annotation: toAnnotation({ ...JSON.parse(data), type: event, position }) };
      }
  }
}
