import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import { NumberedAnswerSchema, NumberedRequestSchema } from "../../generated/openintent/v1/exchange_pb.js";
import { MessageService } from "../../generated/openintent/v1/messages_pb.js";
import { ReactionService } from "../../generated/openintent/v1/reactions_pb.js";
import { SubscriptionService } from "../../generated/openintent/v1/subscriptions_pb.js";

/** A kind of call that an exchange carries. */
export interface Kind {
  /** The field of NumberedRequest that means it. */
  readonly request: number;
  /** The field of NumberedAnswer with its response. */
  readonly answer: number;
  /** Whether it is stored in the order of requests, and answered then. */
  readonly sends: boolean;
  /** Whether it is stored in the order of requests, and answered when somebody has answered. */
  readonly asks: boolean;
}

const requests = NumberedRequestSchema.field;
const answers = NumberedAnswerSchema.field;

/** The field of NumberedAnswer that says why there is no answer. */
export const refusalField = answers.refusal.number;

const send = { answer: answers.message.number, sends: true, asks: false };

/** The calls that an exchange carries; the SDK sends to no channel by its name. */
export const kinds: ReadonlyMap<DescMethodUnary<DescMessage, DescMessage>, Kind> = new Map<DescMethodUnary, Kind>([
  [MessageService.method.sendMessage, { request: requests.send.number, ...send }],
  [MessageService.method.replyMessage, { request: requests.reply.number, ...send }],
  [MessageService.method.ask, { request: requests.ask.number, answer: answers.message.number, sends: false, asks: true }],
  [ReactionService.method.addReaction, { request: requests.react.number, answer: answers.reactions.number, sends: false, asks: false }],
  [
    SubscriptionService.method.acknowledgeDeliveries,
    { request: requests.acknowledge.number, answer: answers.subscription.number, sends: false, asks: false },
  ],
]);
