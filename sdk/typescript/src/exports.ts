// What both entries offer.
export * from "./errors.js";
export type { AskAllOptions, AskOptions } from "./asking.js";
export type { ListOptions, ReplyOptions, SendOptions } from "./channel-calls.js";
export type { Claim, ClaimOptions } from "./claims.js";
export type { AttentionOptions, DispositionOptions, ReactOptions } from "./conversing.js";
export type * from "./conversation-types.js";
export type { CreateChannelOptions } from "./channels.js";
export type { Client } from "./client.js";
export type { Clock } from "./clock.js";
export type { Following, FollowOptions } from "./following.js";
export { ChannelHandle } from "./handle.js";
export type { CreateIntentOptions } from "./intents.js";
export type { CallOptions } from "./retry.js";
export type { ConnectOptions } from "./settings.js";
export type { MessageOptions, RequestOptions } from "./saying.js";
export type { Included } from "./transport.js";
export { openTelemetry, type OpenTelemetryApi, type Span, type Trace, type Tracing } from "./tracing.js";
export type * from "./types.js";
