"""The server's methods that this package calls, with their requests and answers. A test compares them with the protos."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from google.protobuf.message import Message as Wire

from ._generated import (
    agents_pb2,
    attention_pb2,
    channels_pb2,
    claims_pb2,
    concern_pb2,
    intents_pb2,
    leases_pb2,
    messages_pb2,
    obligations_pb2,
    reach_pb2,
    reactions_pb2,
    search_pb2,
    subscriptions_pb2,
)

Asked = TypeVar("Asked", bound=Wire)
Answer = TypeVar("Answer", bound=Wire)


@dataclass(frozen=True, slots=True)
class Method(Generic[Asked, Answer]):
    """One method: its service, its name, and its messages. A streaming method answers with many."""

    service: str
    name: str
    asked: type[Asked]
    answer: type[Answer]
    streams: bool = False
    path: str = field(init=False)
    """Its path on the wire."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", f"/openintent.v1.{self.service}/{self.name}")


_INTENTS, _CHANNELS, _MESSAGES = "IntentService", "ChannelService", "MessageService"
_AGENTS, _LEASES, _SUBSCRIPTIONS = "AgentService", "LeaseService", "SubscriptionService"
_REACTIONS, _CLAIMS, _ATTENTION = "ReactionService", "ClaimService", "AttentionService"
_SEARCH, _REACH = "SearchService", "ReachService"
_OBLIGATIONS, _CONCERNS = "ObligationService", "ConcernService"

OPEN_INTENT = Method(_INTENTS, "OpenIntent", intents_pb2.OpenIntentRequest, intents_pb2.OpenIntentResponse)
CREATE_INTENT = Method(_INTENTS, "CreateIntent", intents_pb2.CreateIntentRequest, intents_pb2.Intent)
GET_INTENT = Method(_INTENTS, "GetIntent", intents_pb2.GetIntentRequest, intents_pb2.Intent)
LIST_INTENTS = Method(_INTENTS, "ListIntents", intents_pb2.ListIntentsRequest, intents_pb2.ListIntentsResponse)
SET_INTENT_STATUS = Method(_INTENTS, "SetIntentStatus", intents_pb2.SetIntentStatusRequest, intents_pb2.Intent)

CREATE_CHANNEL = Method(_CHANNELS, "CreateChannel", channels_pb2.CreateChannelRequest, channels_pb2.Channel)
LIST_CHANNELS = Method(_CHANNELS, "ListChannels", channels_pb2.ListChannelsRequest, channels_pb2.ListChannelsResponse)
GET_CHANNEL = Method(_CHANNELS, "GetChannel", channels_pb2.GetChannelRequest, channels_pb2.Channel)
UPDATE_CHANNEL = Method(_CHANNELS, "UpdateChannel", channels_pb2.UpdateChannelRequest, channels_pb2.Channel)

SEND_MESSAGE = Method(_MESSAGES, "SendMessage", messages_pb2.SendMessageRequest, messages_pb2.Message)
REPLY_MESSAGE = Method(_MESSAGES, "ReplyMessage", messages_pb2.ReplyMessageRequest, messages_pb2.Message)
LIST_MESSAGES = Method(_MESSAGES, "ListMessages", messages_pb2.ListMessagesRequest, messages_pb2.ListMessagesResponse)
GET_MESSAGE = Method(_MESSAGES, "GetMessage", messages_pb2.GetMessageRequest, messages_pb2.Message)
UPDATE_MESSAGE = Method(_MESSAGES, "UpdateMessage", messages_pb2.UpdateMessageRequest, messages_pb2.Message)
LIST_REVISIONS = Method(
    _MESSAGES, "ListRevisions", messages_pb2.ListRevisionsRequest, messages_pb2.ListRevisionsResponse
)
DELETE_MESSAGE = Method(_MESSAGES, "DeleteMessage", messages_pb2.DeleteMessageRequest, messages_pb2.Message)
ASK = Method(_MESSAGES, "Ask", messages_pb2.AskRequest, messages_pb2.Message)
ASK_ALL = Method(_MESSAGES, "AskAll", messages_pb2.AskAllRequest, messages_pb2.AskAllResponse)
AWAIT_RESPONSES = Method(
    _MESSAGES, "AwaitResponses", messages_pb2.AwaitResponsesRequest, messages_pb2.AwaitResponsesResponse
)
MARK_INBOX_READ = Method(
    _MESSAGES, "MarkInboxRead", messages_pb2.MarkInboxReadRequest, messages_pb2.MarkInboxReadResponse
)
GET_INBOX = Method(_MESSAGES, "GetInbox", messages_pb2.GetInboxRequest, messages_pb2.Inbox)
SUBSCRIBE = Method(_MESSAGES, "Subscribe", messages_pb2.SubscribeRequest, messages_pb2.SubscribeResponse, streams=True)
GET_THREAD = Method(_MESSAGES, "GetThread", messages_pb2.GetThreadRequest, messages_pb2.Thread)

ADD_REACTION = Method(
    _REACTIONS, "AddReaction", reactions_pb2.AddReactionRequest, reactions_pb2.ListReactionsResponse
)
REMOVE_REACTION = Method(
    _REACTIONS, "RemoveReaction", reactions_pb2.RemoveReactionRequest, reactions_pb2.ListReactionsResponse
)
LIST_REACTIONS = Method(
    _REACTIONS, "ListReactions", reactions_pb2.ListReactionsRequest, reactions_pb2.ListReactionsResponse
)
CLAIM_MESSAGE = Method(_CLAIMS, "ClaimMessage", claims_pb2.ClaimMessageRequest, claims_pb2.Claim)
RELEASE_CLAIM = Method(_CLAIMS, "ReleaseClaim", claims_pb2.ReleaseClaimRequest, claims_pb2.Claim)
DISCHARGE_OBLIGATION = Method(
    _OBLIGATIONS, "DischargeObligation", obligations_pb2.DischargeObligationRequest, obligations_pb2.Discharge
)
LIST_OBLIGATIONS = Method(
    _OBLIGATIONS, "ListObligations", obligations_pb2.ListObligationsRequest, obligations_pb2.ListObligationsResponse
)
GET_ATTENTION = Method(
    _ATTENTION, "GetAttention", attention_pb2.GetAttentionRequest, attention_pb2.GetAttentionResponse
)
SET_DISPOSITION = Method(
    _ATTENTION, "SetDisposition", attention_pb2.SetDispositionRequest, attention_pb2.MessageDisposition
)
MARK_SURFACED = Method(
    _ATTENTION, "MarkSurfaced", attention_pb2.MarkSurfacedRequest, attention_pb2.MarkSurfacedResponse
)

SEARCH_MESSAGES = Method(
    _SEARCH, "SearchMessages", search_pb2.SearchMessagesRequest, search_pb2.SearchMessagesResponse
)

GET_REACH = Method(_REACH, "GetReach", reach_pb2.GetReachRequest, reach_pb2.Reach)
CONFIRM_PROBE = Method(_REACH, "ConfirmProbe", reach_pb2.ConfirmProbeRequest, reach_pb2.ConfirmProbeResponse)

LIST_CONCERNS = Method(
    _CONCERNS, "ListConcerns", concern_pb2.ListConcernsRequest, concern_pb2.ListConcernsResponse
)

UPSERT_AGENT = Method(_AGENTS, "UpsertAgent", agents_pb2.RegisterAgentRequest, agents_pb2.Agent)
HEARTBEAT = Method(_AGENTS, "Heartbeat", agents_pb2.HeartbeatRequest, agents_pb2.HeartbeatResponse)
GET_AGENT = Method(_AGENTS, "GetAgent", agents_pb2.GetAgentRequest, agents_pb2.Agent)
LIST_AGENTS = Method(_AGENTS, "ListAgents", agents_pb2.ListAgentsRequest, agents_pb2.ListAgentsResponse)
UPDATE_AGENT_STATUS = Method(_AGENTS, "UpdateAgentStatus", agents_pb2.UpdateAgentStatusRequest, agents_pb2.Agent)

ACQUIRE_LEASE = Method(_LEASES, "AcquireLease", leases_pb2.AcquireLeaseRequest, leases_pb2.Lease)
RENEW_LEASE = Method(_LEASES, "RenewLease", leases_pb2.RenewLeaseRequest, leases_pb2.Lease)
RELEASE_LEASE = Method(_LEASES, "ReleaseLease", leases_pb2.ReleaseLeaseRequest, leases_pb2.ReleaseLeaseResponse)

CREATE_SUBSCRIPTION = Method(
    _SUBSCRIPTIONS, "CreateSubscription", subscriptions_pb2.CreateSubscriptionRequest, subscriptions_pb2.Subscription
)
LIST_SUBSCRIPTIONS = Method(
    _SUBSCRIPTIONS, "ListSubscriptions", subscriptions_pb2.ListSubscriptionsRequest,
    subscriptions_pb2.ListSubscriptionsResponse,
)
DELETE_SUBSCRIPTION = Method(
    _SUBSCRIPTIONS, "DeleteSubscription", subscriptions_pb2.DeleteSubscriptionRequest,
    subscriptions_pb2.DeleteSubscriptionResponse,
)
STREAM_DELIVERIES = Method(
    _SUBSCRIPTIONS, "StreamDeliveries", subscriptions_pb2.StreamDeliveriesRequest,
    subscriptions_pb2.SubscriptionDelivery, streams=True,
)
ACKNOWLEDGE_DELIVERIES = Method(
    _SUBSCRIPTIONS, "AcknowledgeDeliveries", subscriptions_pb2.AcknowledgeDeliveriesRequest, subscriptions_pb2.Subscription
)
REDRIVE_DEAD_LETTERS = Method(
    _SUBSCRIPTIONS, "RedriveDeadLetters", subscriptions_pb2.RedriveDeadLettersRequest, subscriptions_pb2.Subscription
)
