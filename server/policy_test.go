package server

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestEveryMethodOfTheContractHasAPolicy(t *testing.T) {
	listed := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("openintent.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				name := "/" + string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				require.Contains(t, policies, name)
				require.Equal(t, anyCaller, policies[name].access, "the contract's methods need a key: %s", name)
				listed++
			}
		}
		return true
	})
	ours := 0
	for name := range policies {
		if strings.HasPrefix(name, "/openintent.v1.") {
			ours++
		}
	}
	require.Equal(t, listed, ours, "there is no policy for a method that no longer exists")
}

// Each method reads or writes. What only reads is listed here by name too, so that nobody opens a method to read-only keys
// by copying a line.
func TestEveryMethodReadsOrWrites(t *testing.T) {
	reading := []string{
		"IntentService/ListIntents", "IntentService/GetIntent", "IntentService/ListAssignments",
		"EventService/ListEvents", "EventService/GetEvent", "EventService/VerifyEvents", "EventService/ListTraceEvents",
		"AccessService/GetAccessControl", "CoordinatorService/GetCoordinator", "CoordinatorService/ListCoordinators",
		"AgentService/WhoAmI", "AgentService/GetAgent", "AgentService/ListAgents", "AgentService/ListRefusedSenders", "ReachService/GetReach",
		"ContactService/ListContacts", "ContactService/GetWebPushKey",
		"TaskService/GetTask", "TaskService/ListTasks", "LeaseService/ListLeases",
		"ChannelService/ListChannels", "ChannelService/GetChannel",
		"MessageService/ListMessages", "MessageService/GetMessage", "MessageService/AwaitResponses", "MessageService/Subscribe",
		"MessageService/ListMessageDeliveries", "MessageService/GetInbox", "MessageService/GetThread", "AttentionService/GetAttention",
		"ReactionService/ListReactions", "MessageService/ListRevisions", "ObligationService/ListObligations", "SearchService/SearchMessages", "ConcernService/ListConcerns",
		"SubscriptionService/ListSubscriptions", "SubscriptionService/GetSubscription", "SubscriptionService/ListDeadLetters",
		"KeyService/ListKeys", "KeyService/GetKey", "InviteService/ListInvites", "ServerService/GetServer",
	}
	var found []string
	for name, policy := range policies {
		require.Contains(t, []effect{reads, writes}, policy.effect, name)
		if policy.access == public {
			require.Equal(t, reads, policy.effect, name)
		} else if policy.effect == reads {
			found = append(found, strings.TrimPrefix(name, "/openintent.v1."))
		}
	}
	require.ElementsMatch(t, reading, found)
}

// A stop of the server ends every call that lasts as long as its client likes: each stream, each call whose request says how long it may wait,
// and three that wait without saying so. A call that may bring its caller messages is a path to that agent.
func TestWhatLastsAndWhatHears(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	var alone, hearing []string
	for fullMethod, called := range methods {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(fullMethod[1:], "/", ".")))
		require.NoError(t, err)
		described := found.(protoreflect.MethodDescriptor)
		switch lasts := described.IsStreamingServer() || described.IsStreamingClient() || called.patience != nil; {
		case lasts:
			require.True(t, called.waits, called.name)
		case called.waits:
			alone = append(alone, called.name)
		}
		if called.hears {
			hearing = append(hearing, called.name)
		}
	}
	require.ElementsMatch(t, []string{"MessageService/Ask", "MessageService/AskAll", "ReachService/ProbeAgent"}, alone)
	require.ElementsMatch(t, []string{
		"MessageService/AwaitResponses", "MessageService/Subscribe", "MessageService/GetInbox", "SubscriptionService/StreamDeliveries",
		"SubscriptionService/FetchDeliveries",
	}, hearing)
}

func TestEveryServedMethodHasAPolicy(t *testing.T) {
	server := grpc.NewServer()
	db := databasetest.Open(t, database.Config{URL: "sqlite::memory:"})
	sender, err := DefaultConfig().webhooks()
	require.NoError(t, err)
	wire(db, DefaultConfig(), sender, newMetrics(), nil, slog.New(slog.DiscardHandler)).register(server)
	healthv1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	for service, info := range server.GetServiceInfo() {
		for _, served := range info.Methods {
			require.Contains(t, policies, "/"+service+"/"+served.Name)
		}
	}
}

func TestMethodsKnowTheFieldsThatHeadersFill(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	require.Len(t, methods, len(policies))
	patch := methods[openintentv1.IntentService_PatchIntentState_FullMethodName]
	require.NotNil(t, patch.expectedVersion)
	require.Nil(t, patch.idempotencyKey)
	require.Equal(t, "IntentService/PatchIntentState", patch.name)
	send := methods[openintentv1.MessageService_SendMessage_FullMethodName]
	require.NotNil(t, send.idempotencyKey)
	require.Nil(t, send.expectedVersion)
	require.False(t, send.manyRequests)
	many := methods[openintentv1.MessageService_SendMessages_FullMethodName]
	require.True(t, many.manyRequests)
	require.Nil(t, many.idempotencyKey)
	require.Equal(t, "grpc.health.v1.Health/Check", methods[healthv1.Health_Check_FullMethodName].name)
}
