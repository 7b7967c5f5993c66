package server

import (
	"fmt"
	"strings"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	openintentv1 "openintent/gen/openintent/v1"
)

// access decides who may call a method at all. The rooms decide what a caller may do with an intent or a channel.
type access uint8

const (
	// anyCaller needs a known API key.
	anyCaller access = iota + 1
	// public needs no key: it reveals nothing but the server's health and its published contract.
	public
)

// effect reports whether a method changes anything that belongs to callers. Each policy has one.
type effect uint8

const (
	// reads changes nothing but what the server notes by itself, such as that a message was handed out.
	reads effect = iota + 1
	// writes changes something, if only what the caller has read or that it lives. A read-only key may not call it.
	writes
)

// policy is what the server allows for one method.
type policy struct {
	access access
	effect effect
	place  place
	// anyChannel marks a method that takes "-" for a channel that something else in the request names: its message, or its address. Then
	// the room looks at the scope.
	anyChannel bool
	// free says why a call that writes is not charged for what it stores: it cannot make anything grow, and must not be refused because
	// the key has stored much. "" for a call that is charged.
	free string
	// carries marks a stream whose requests are calls of their own, which are admitted one by one under the identity of the stream.
	carries bool
	// hears marks a call by which its caller may hear of messages, so that it may be a path to that agent.
	hears bool
	// waits marks a call that may last as long as its client likes. When the server stops, it ends such a call
	// immediately; every other call runs to its end.
	waits bool
}

// These are why calls that write are free.
const (
	isAlive    = "it rewrites one row that is there, and says that its caller lives"
	isConsumer = "it notes how far a consumer has come in what others sent; there is one row at most for each subscription and message"
	freesOnly  = "it marks or removes one row, and makes room"
	isProof    = "it rewrites a contact that is there, of which a name has five"
	isAsked    = "it stores nothing"
	carriesAll = "each call that it carries is charged for what that stores"
)

// policies lists every method. A method that is missing here is refused, and a test fails.
var policies = map[string]policy{
	openintentv1.IntentService_CreateIntent_FullMethodName:     {access: anyCaller, effect: writes, place: outside},
	openintentv1.IntentService_OpenIntent_FullMethodName:       {access: anyCaller, effect: writes, place: outside},
	openintentv1.IntentService_ListIntents_FullMethodName:      {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.IntentService_GetIntent_FullMethodName:        {access: anyCaller, effect: reads, place: named},
	openintentv1.IntentService_PatchIntentState_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.IntentService_SetIntentStatus_FullMethodName:  {access: anyCaller, effect: writes, place: named},
	openintentv1.IntentService_ListAssignments_FullMethodName:  {access: anyCaller, effect: reads, place: named},
	openintentv1.IntentService_AssignAgent_FullMethodName:      {access: anyCaller, effect: writes, place: named},
	openintentv1.IntentService_UnassignAgent_FullMethodName:    {access: anyCaller, effect: writes, place: named},

	openintentv1.EventService_AppendEvent_FullMethodName:     {access: anyCaller, effect: writes, place: named},
	openintentv1.EventService_ListEvents_FullMethodName:      {access: anyCaller, effect: reads, place: named},
	openintentv1.EventService_GetEvent_FullMethodName:        {access: anyCaller, effect: reads, place: named},
	openintentv1.EventService_VerifyEvents_FullMethodName:    {access: anyCaller, effect: reads, place: named},
	openintentv1.EventService_ListTraceEvents_FullMethodName: {access: anyCaller, effect: reads, place: byRoom},

	openintentv1.AccessService_GetAccessControl_FullMethodName:  {access: anyCaller, effect: reads, place: named},
	openintentv1.AccessService_SetAccessControl_FullMethodName:  {access: anyCaller, effect: writes, place: named},
	openintentv1.AccessService_CreateAccessEntry_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.AccessService_DeleteAccessEntry_FullMethodName: {access: anyCaller, effect: writes, place: named},

	openintentv1.CoordinatorService_CreateCoordinator_FullMethodName:    {access: anyCaller, effect: writes, place: named},
	openintentv1.CoordinatorService_GetCoordinator_FullMethodName:       {access: anyCaller, effect: reads, place: named},
	openintentv1.CoordinatorService_ListCoordinators_FullMethodName:     {access: anyCaller, effect: reads, place: named},
	openintentv1.CoordinatorService_CoordinatorHeartbeat_FullMethodName: {access: anyCaller, effect: writes, free: isAlive, place: named},
	openintentv1.CoordinatorService_RemoveCoordinator_FullMethodName:    {access: anyCaller, effect: writes, place: named},

	openintentv1.AgentService_WhoAmI_FullMethodName:            {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.AgentService_RegisterAgent_FullMethodName:     {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.AgentService_UpsertAgent_FullMethodName:       {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.AgentService_GetAgent_FullMethodName:          {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.AgentService_ListAgents_FullMethodName:        {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.AgentService_UpdateAgentStatus_FullMethodName: {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.AgentService_Heartbeat_FullMethodName:         {access: anyCaller, effect: writes, free: isAlive, place: byRoom},
	openintentv1.AgentService_DeregisterAgent_FullMethodName:   {access: anyCaller, effect: writes, place: byRoom},

	openintentv1.AgentService_RefuseSender_FullMethodName:       {access: anyCaller, effect: writes, place: outside},
	openintentv1.AgentService_AllowSender_FullMethodName:        {access: anyCaller, effect: writes, free: freesOnly, place: outside},
	openintentv1.AgentService_ListRefusedSenders_FullMethodName: {access: anyCaller, effect: reads, place: outside},

	openintentv1.ReachService_GetReach_FullMethodName:     {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.ReachService_ProbeAgent_FullMethodName:   {access: anyCaller, effect: writes, free: isAsked, place: byRoom, waits: true},
	openintentv1.ReachService_ConfirmProbe_FullMethodName: {access: anyCaller, effect: writes, free: isAlive, place: byRoom},

	openintentv1.ContactService_SetContacts_FullMethodName:     {access: anyCaller, effect: writes, place: outside},
	openintentv1.ContactService_ListContacts_FullMethodName:    {access: anyCaller, effect: reads, place: outside},
	openintentv1.ContactService_ProveContact_FullMethodName:    {access: anyCaller, effect: writes, free: isProof, place: outside},
	openintentv1.ContactService_SendContactCode_FullMethodName: {access: anyCaller, effect: writes, place: outside},
	openintentv1.ContactService_GetWebPushKey_FullMethodName:   {access: anyCaller, effect: reads, place: outside},

	openintentv1.TaskService_CreateTask_FullMethodName:   {access: anyCaller, effect: writes, place: named},
	openintentv1.TaskService_GetTask_FullMethodName:      {access: anyCaller, effect: reads, place: named},
	openintentv1.TaskService_ListTasks_FullMethodName:    {access: anyCaller, effect: reads, place: named},
	openintentv1.TaskService_UpdateTask_FullMethodName:   {access: anyCaller, effect: writes, place: named},
	openintentv1.TaskService_ClaimTask_FullMethodName:    {access: anyCaller, effect: writes, place: named},
	openintentv1.TaskService_CompleteTask_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.TaskService_FailTask_FullMethodName:     {access: anyCaller, effect: writes, place: named},

	openintentv1.LeaseService_AcquireLease_FullMethodName: {access: anyCaller, effect: writes, waits: true, place: named},
	openintentv1.LeaseService_ListLeases_FullMethodName:   {access: anyCaller, effect: reads, place: named},
	openintentv1.LeaseService_RenewLease_FullMethodName:   {access: anyCaller, effect: writes, free: isAlive, place: named},
	openintentv1.LeaseService_ReleaseLease_FullMethodName: {access: anyCaller, effect: writes, place: named},

	openintentv1.ChannelService_CreateChannel_FullMethodName:       {access: anyCaller, effect: writes, place: named},
	openintentv1.ChannelService_ListChannels_FullMethodName:        {access: anyCaller, effect: reads, place: named},
	openintentv1.ChannelService_GetChannel_FullMethodName:          {access: anyCaller, effect: reads, place: named, anyChannel: true},
	openintentv1.ChannelService_UpdateChannel_FullMethodName:       {access: anyCaller, effect: writes, place: named},
	openintentv1.ChannelService_AddChannelMembers_FullMethodName:   {access: anyCaller, effect: writes, place: named},
	openintentv1.ChannelService_RemoveChannelMember_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.ChannelService_DeleteChannel_FullMethodName:       {access: anyCaller, effect: writes, place: named},

	openintentv1.MessageService_SendMessage_FullMethodName:           {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_SendMessageByName_FullMethodName:     {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_SendMessages_FullMethodName:          {access: anyCaller, effect: writes, place: named, waits: true},
	openintentv1.MessageService_ListMessages_FullMethodName:          {access: anyCaller, effect: reads, place: named},
	openintentv1.MessageService_GetMessage_FullMethodName:            {access: anyCaller, effect: reads, place: named, anyChannel: true},
	openintentv1.MessageService_GetThread_FullMethodName:             {access: anyCaller, effect: reads, place: named},
	openintentv1.MessageService_ReplyMessage_FullMethodName:          {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_UpdateMessage_FullMethodName:         {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_ListRevisions_FullMethodName:         {access: anyCaller, effect: reads, place: named},
	openintentv1.MessageService_DeleteMessage_FullMethodName:         {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_Ask_FullMethodName:                   {access: anyCaller, effect: writes, place: named, waits: true},
	openintentv1.MessageService_AskAll_FullMethodName:                {access: anyCaller, effect: writes, place: named, waits: true},
	openintentv1.MessageService_AwaitResponses_FullMethodName:        {access: anyCaller, effect: reads, place: named, waits: true, hears: true},
	openintentv1.MessageService_Subscribe_FullMethodName:             {access: anyCaller, effect: reads, place: anywhere, waits: true, hears: true},
	openintentv1.MessageService_LiftBrake_FullMethodName:             {access: anyCaller, effect: writes, place: named},
	openintentv1.MessageService_ListMessageDeliveries_FullMethodName: {access: anyCaller, effect: reads, place: named},
	openintentv1.MessageService_GetInbox_FullMethodName:              {access: anyCaller, effect: reads, place: byRoom, waits: true, hears: true},
	openintentv1.MessageService_MarkInboxRead_FullMethodName:         {access: anyCaller, effect: writes, place: byRoom},

	openintentv1.ExchangeService_Exchange_FullMethodName: {
		access: anyCaller, effect: writes, free: carriesAll, place: byRoom, waits: true, carries: true,
	},

	openintentv1.AttentionService_GetAttention_FullMethodName:         {access: anyCaller, effect: reads, place: named},
	openintentv1.AttentionService_SetDisposition_FullMethodName:       {access: anyCaller, effect: writes, place: named},
	openintentv1.AttentionService_MarkSurfaced_FullMethodName:         {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.AttentionService_HandOver_FullMethodName:             {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.SearchService_SearchMessages_FullMethodName:          {access: anyCaller, effect: reads, place: anywhere},
	openintentv1.ConcernService_ListConcerns_FullMethodName:           {access: anyCaller, effect: reads, place: anywhere},
	openintentv1.ClaimService_ClaimMessage_FullMethodName:             {access: anyCaller, effect: writes, place: named},
	openintentv1.ClaimService_ReleaseClaim_FullMethodName:             {access: anyCaller, effect: writes, place: named},
	openintentv1.ReactionService_AddReaction_FullMethodName:           {access: anyCaller, effect: writes, place: named},
	openintentv1.ReactionService_RemoveReaction_FullMethodName:        {access: anyCaller, effect: writes, place: named},
	openintentv1.ReactionService_ListReactions_FullMethodName:         {access: anyCaller, effect: reads, place: named},
	openintentv1.ObligationService_DischargeObligation_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.ObligationService_ListObligations_FullMethodName:     {access: anyCaller, effect: reads, place: byRoom},

	openintentv1.SubscriptionService_CreateSubscription_FullMethodName:     {access: anyCaller, effect: writes, place: anywhere},
	openintentv1.SubscriptionService_ListSubscriptions_FullMethodName:      {access: anyCaller, effect: reads, place: anywhere},
	openintentv1.SubscriptionService_GetSubscription_FullMethodName:        {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.SubscriptionService_UpdateSubscription_FullMethodName:     {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.SubscriptionService_DeleteSubscription_FullMethodName:     {access: anyCaller, effect: writes, free: freesOnly, place: byRoom},
	openintentv1.SubscriptionService_StreamDeliveries_FullMethodName:       {access: anyCaller, effect: writes, free: isConsumer, place: byRoom, waits: true, hears: true},
	openintentv1.SubscriptionService_FetchDeliveries_FullMethodName:        {access: anyCaller, effect: writes, free: isConsumer, place: byRoom, waits: true, hears: true},
	openintentv1.SubscriptionService_AcknowledgeDeliveries_FullMethodName:  {access: anyCaller, effect: writes, free: isConsumer, place: byRoom},
	openintentv1.ExperimentalService_StreamAcknowledgements_FullMethodName: {access: anyCaller, effect: writes, free: isConsumer, place: byRoom, waits: true},
	openintentv1.SubscriptionService_ListDeadLetters_FullMethodName:        {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.SubscriptionService_RedriveDeadLetters_FullMethodName:     {access: anyCaller, effect: writes, free: isConsumer, place: byRoom},

	openintentv1.KeyService_CreateKey_FullMethodName: {access: anyCaller, effect: writes, place: byRoom},
	openintentv1.KeyService_ListKeys_FullMethodName:  {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.KeyService_GetKey_FullMethodName:    {access: anyCaller, effect: reads, place: byRoom},
	openintentv1.KeyService_RevokeKey_FullMethodName: {access: anyCaller, effect: writes, free: freesOnly, place: byRoom},
	openintentv1.KeyService_RotateKey_FullMethodName: {access: anyCaller, effect: writes, place: byRoom},

	openintentv1.ServerService_GetServer_FullMethodName: {access: anyCaller, effect: reads, place: outside},

	openintentv1.InviteService_CreateInvite_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.InviteService_ListInvites_FullMethodName:  {access: anyCaller, effect: reads, place: named},
	openintentv1.InviteService_UpdateInvite_FullMethodName: {access: anyCaller, effect: writes, place: named},
	openintentv1.InviteService_RevokeInvite_FullMethodName: {access: anyCaller, effect: writes, free: freesOnly, place: named},

	healthv1.Health_Check_FullMethodName: {access: public, effect: reads, place: noKey},
	healthv1.Health_List_FullMethodName:  {access: public, effect: reads, place: noKey},
	healthv1.Health_Watch_FullMethodName: {access: public, effect: reads, place: noKey, waits: true},

	reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName:      {access: public, effect: reads, place: noKey, waits: true},
	reflectionv1alpha.ServerReflection_ServerReflectionInfo_FullMethodName: {access: public, effect: reads, place: noKey, waits: true},
}

// method is what the interceptors need to know about one RPC, looked up once at start.
type method struct {
	policy
	// name is Service/Method without the package, for the log and the metrics; methods of other packages keep the
	// package.
	name  string
	input protoreflect.MessageDescriptor
	// validated is true for the methods of our own contract.
	validated bool
	// manyRequests is true when the client streams too.
	manyRequests bool
	// patience is the field wait_seconds; nil when the request has none.
	patience protoreflect.FieldDescriptor
	// expectedVersion and idempotencyKey are the fields that headers fill. They are nil when the request has no such
	// field, and when a call has many requests, because a header applies to the whole call.
	expectedVersion protoreflect.FieldDescriptor
	idempotencyKey  protoreflect.FieldDescriptor
	// places are the fields by which the requests name places.
	places []namedPlace
}

// listMethods resolves the policies, by full method name ("/package.Service/Method").
func listMethods() (map[string]*method, error) {
	methods := make(map[string]*method, len(policies))
	for fullMethod, granted := range policies {
		name := strings.TrimPrefix(fullMethod, "/")
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(
			protoreflect.FullName(strings.ReplaceAll(name, "/", ".")))
		if err != nil {
			return nil, fmt.Errorf("the policy of %s: %w", fullMethod, err)
		}
		described := found.(protoreflect.MethodDescriptor)
		ownName, own := strings.CutPrefix(name, "openintent.v1.")
		called := &method{
			policy:       granted,
			name:         ownName,
			input:        described.Input(),
			validated:    own,
			manyRequests: described.IsStreamingClient(),
			patience:     described.Input().Fields().ByName(patienceField),
			places:       placesOf(described.Input()),
		}
		if !called.manyRequests {
			called.expectedVersion = called.input.Fields().ByName("expected_version")
			called.idempotencyKey = called.input.Fields().ByName("idempotency_key")
		}
		methods[fullMethod] = called
	}
	return methods, checkPlaces(methods)
}

// ChargedMethods returns the methods that are charged for what they store, as Service/Method, in no order.
func ChargedMethods() (charged []string) {
	for name, granted := range policies {
		if granted.effect == writes && granted.free == "" {
			charged = append(charged, strings.TrimPrefix(name, "/openintent.v1."))
		}
	}
	return charged
}
