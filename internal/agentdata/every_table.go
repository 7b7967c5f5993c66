package agentdata

import (
	"openintent/messaging/message"
)

const (
	ofAgent        = "x.agent_id = ?"
	ofMessage      = "EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = x.intent_no AND m.position = x.position AND (m.sender = ? OR m.target = ?))"
	ofSubscription = "EXISTS (SELECT 1 FROM subscriptions s WHERE s.subscription_no = x.subscription_no AND s.subscriber_id = ?)"

	withSubscription = "they go with the subscriptions"
	withMessage      = "they go with the messages"
	sharedWork       = "everyone who works on the intent shares them, and logged events describe them"
	wordIndex        = "the words of messages, which go with their messages"
	book             = "which migrations were applied"
)

// Tables is what the schema has of an agent: all tables, from those of intents to those of the program itself.
var Tables = []Table{
	{
		Name: "intents", Of: "x.created_by = ?",
		Columns: "id title description created_by constraints:json confidence:real version:number parent_intent_id depends_on:json" +
			" governance_policy:json default_policy created_at:time updated_at:time made_by_key",
		Hidden: "intent_no state", Stays: sharedWork,
	},
	{Name: "intent_heads", Stays: "how far the log of each intent is"},
	{
		Name: "events", Of: "x.actor = ?",
		Columns: "sequence:number position:number id event_type actor payload:json proof:json trace_id parent_event_id created_at:time" +
			" previous_hash hash",
		Hidden: "intent_no", Stays: "a hash chain covers them; OPENINTENT_EVENT_RETENTION removes them by age",
	},
	{Name: "event_checkpoints", Stays: "up to where events were removed"},
	{
		Name: "assignments", Of: ofAgent, Columns: "agent_id id role assigned_at:time", Hidden: "intent_no",
		Stays: "they say who works on the intent; unassign the agent if it should not",
	},
	{
		Name: "access_entries", Of: "x.principal_id = ? OR x.granted_by = ?",
		Columns: "id principal_id principal_type permission granted_by granted_at:time expires_at:time expiry_logged:bool reason",
		Hidden:  "intent_no", Erased: "the reasons of grants that it made",
		change: &change{where: "x.granted_by = ? AND x.reason IS NOT NULL", by: "granted_at", set: "reason = NULL"},
		Stays:  "they say who may use the intent; revoke them if nobody should",
	},
	{
		Name: "coordinators", Of: "x.agent_id = ? OR x.supervisor_id = ?",
		Columns: "id agent_id role supervisor_id coordinator_type status guardrails:json heartbeat_interval_seconds:number" +
			" last_heartbeat_at:time granted_at:time expires_at:time metadata:json",
		Hidden: "intent_no", Stays: "they say who coordinates the intent, or did",
	},
	{
		Name: "tasks", Of: "x.assigned_agent = ?",
		Columns: "id plan_id name description status version:number priority:number input:json output:json artifacts:json assigned_agent" +
			" capabilities_required:json parent_task_id retry_policy:json timeout_seconds:number attempt:number max_attempts:number" +
			" permissions:json blocked_reason error:json metadata:json created_at:time started_at:time completed_at:time made_by_key",
		Hidden: "intent_no", Stays: sharedWork,
	},
	{Name: "task_dependencies", Stays: "which task waits for which"},
	{
		Name: "agents", Of: ofAgent,
		Columns: "agent_id role_id name capabilities:json max_concurrent_tasks:number current_load:number status endpoint" +
			" interval_seconds:number unhealthy_after_seconds:number dead_after_seconds:number metadata:json registered_at:time" +
			" last_heartbeat_at:time draining_since:time drain_timeout_seconds:number departed_at:time key_id version:number" +
			" role_since:time role_ahead status_note silent_since:time presumed_dead_at:time presence_reason",
		Hidden: "refusals",
		Erased: "name, capabilities, endpoint, metadata and note of its record, and the senders that it refuses",
		Stays:  "id, role and times: the time of its departure makes earlier memberships and requests void",
	},
	{
		Name: "agent_reach", Of: ofAgent, Columns: "agent_id heard_at:time offered_at:time surfaced_at:time surfaces_in:json",
		Erased: "when it was heard, handed messages and showed them",
	},
	{
		Name: "agent_paths", Of: ofAgent, Columns: "agent_id kind replica since:time proven_at:time asked:bool",
		Stays: "as long as its connections are open",
	},
	{
		Name: "contacts", Of: ofAgent,
		Columns: "agent_id id place:number kind made_by_key created_at:time code_until:time code_attempts:number proved_at:time" +
			" failing_since:time off_at:time last_problem",
		Hidden: "address code_digest", Erased: "its contacts, with their addresses",
	},
	{
		Name: "contact_codes", Of: ofAgent, Columns: "code_no:number agent_id contact_id key_id sent_at:time", Hidden: "address_digest",
		Erased: "which codes were sent to its contacts in the last hour",
	},
	{
		Name: "contact_looks", Of: ofAgent, Columns: "agent_id look_at:time version:number", Erased: "when somebody looks at what waits for it",
	},
	{
		Name: "contact_calls", Of: "x.agent_id = ? OR x.sender = ?",
		Columns: "agent_id sender position:number sent_at:time stranger:bool began_at:time step:number", Hidden: "intent_no",
		Erased: "of which message of whom its contacts were last told, and whose contacts were told of its own",
	},
	{
		Name: "contact_posts", Of: ofAgent,
		Columns: "post_no:number agent_id contact_id key_id position:number pointer:json attempts:number due_at:time made_at:time",
		Hidden:  "intent_no", Erased: "what was to be sent to its contacts",
	},
	{Name: "web_push_keys", Stays: "the keys with which the servers sign pushes to browsers"},
	{Name: "replicas", Stays: "which servers have connections of agents"},
	{
		Name: "refusals", Of: "x.agent_id = ? OR x.sender = ?", Columns: "agent_id sender created_at:time",
		Stays: "its own go with its record; those of others say which senders they refuse",
	},
	{
		Name: "channels", Of: "x.created_by = ?",
		Columns: "id name task_id created_by policy audit:bool ttl_seconds:number max_messages:number created_at:time closed_at:time" +
			" deleted_at:time opened_through:number history turn_budget:number address made_by_key conversation_budget:number",
		Hidden: "intent_no channel_no", Stays: sharedWork,
	},
	{Name: "conversation_brakes", Stays: "where agents were braked lately, and where somebody lifted that; they go within an hour"},
	{Name: "channel_heads", Stays: "how many messages each channel has"},
	{Name: "channel_addresses", Stays: "addresses that the server drew"},
	{
		Name: "members", Of: ofAgent, Columns: "agent_id place:number added_at:time joined_after:number", Hidden: "intent_no channel_no",
		Stays: "they say who takes part in a channel; remove the member if it should not",
	},
	{
		Name: "insiders", Of: ofAgent, Columns: "agent_id added_at:time seen_after:number", Hidden: "intent_no channel_no",
		Stays: "they say who saw what was sent before a channel was opened",
	},
	{
		Name: "messages", Of: "x.sender = ? OR x.target = ?",
		Columns: "position:number ordinal:number id sender target message_type correlation_position:number correlation_id payload:json" +
			" metadata:json created_at:time expires_at:time read_at:time ended_at:time thread_position:number conversation:json thread_id turn:number",
		Hidden: "intent_no channel_no", Erased: "the contents of those that it sent",
		Stays: "ids, places and times, and the contents of those that others sent to it",
	},
	{
		Name: "message_revisions", Of: ofMessage,
		Columns: "position:number revision:number payload:json metadata:json subject mentions:json created_at:time",
		Hidden:  "intent_no", Stays: withMessage,
	},
	{
		Name: "open_requests", Of: "x.target = ? OR " + ofMessage, Columns: "position:number target created_at:time expires_at:time",
		Hidden: "intent_no channel_no", Stays: "requests of others, until they expire",
	},
	{Name: "evicted_requests", Stays: "how long evicted requests are kept"},
	{
		Name: "receipts", Of: ofAgent, Columns: "position:number agent_id read_at:time", Hidden: "intent_no",
		Erased: "which messages it read", change: removal(ofAgent, "position"),
	},
	{
		Name: "idempotency_keys", Of: "x.sender = ?",
		Columns: "sender scope key position:number channel_id message_id target created_at:time conversation:json",
		Hidden:  "intent_no fingerprint", Erased: "the keys under which it sent, with subjects",
		change: removal("x.sender = ?", "position"),
	},
	{
		Name: "pending_work", Of: "x.kind = 'departure' AND x.key = ?", Columns: "kind key created_at:time", Hidden: "intent_no",
		Stays: "what its departure has left to do, until that is done",
	},
	{
		Name: "audiences", Of: "x.name = ?", Columns: "name sent:bool", Hidden: "intent_no",
		Stays: "they say in which intents messages name it, or it takes part",
	},
	{
		Name: "offers", Of: ofAgent, Columns: "position:number agent_id offered_at:time", Hidden: "intent_no",
		Erased: "when messages were handed to it", change: removal(ofAgent, "position"),
	},
	{
		Name: "channel_offers", Of: ofAgent, Columns: "agent_id ordinal:number offered_at:time", Hidden: "intent_no channel_no",
		Erased: "up to where channels were handed to it", change: removal(ofAgent, "channel_no"),
	},
	{
		Name: "dead_letters", Of: ofAgent, Columns: "position:number agent_id dead_at:time reason", Hidden: "intent_no",
		Erased: "what its subscriptions gave up, and why", change: removal(ofAgent, "position"),
	},
	{
		Name: "dispositions", Of: ofAgent,
		Columns: "position:number agent_id surfaced_at:time disposition reason until_at:time disposed_at:time changes:number handed_at:time",
		Hidden:  "intent_no", Erased: "which messages its model was given and saw, what it did with them, and why", change: removal(ofAgent, "position"),
	},
	{
		Name: "annotations", Of: ofAgent,
		Columns: "position:number message_position:number id annotation_type agent_id details:json created_at:time",
		Hidden:  "intent_no channel_no", Erased: "notes and reasons of what it did to messages",
		change: &change{where: ofAgent, by: "position", column: "details", text: message.WithoutWords},
		Stays:  "what happened to messages, without the words",
	},
	{
		Name: "reactions", Of: ofAgent,
		Columns: "position:number message_position:number agent_id signal note eta created_at:time changes:number present:bool",
		Hidden:  "intent_no", Erased: "the notes of its reactions",
		change: &change{where: "x.agent_id = ? AND (x.note <> '' OR x.eta <> '')", by: "position", set: "note = '', eta = ''"},
		Stays:  "the signals on others' messages",
	},
	{
		Name: "claims", Of: ofAgent,
		Columns: "message_position:number agent_id message_id fence:number claim_key expires_at:time ended due_at:time",
		Hidden:  "intent_no channel_no epoch", Erased: "the keys of its claims",
		change: &change{where: "x.agent_id = ? AND x.claim_key <> ''", by: "message_position", set: "claim_key = ''"},
		Stays:  "they say who worked on a message, until they run out",
	},
	{
		Name: "obligations", Of: "x.author = ? OR x.target = ? OR x.delegate = ? OR x.discharged_by = ?",
		Columns: "position:number message_id author target delegate blocks opened_at:time step:number due_at:time extended:bool" +
			" paused_at:time discharged_at:time discharged_by note",
		Hidden: "intent_no channel_no", Erased: "the notes with which it discharged them",
		change: &change{where: "x.discharged_by = ? AND x.note <> ''", by: "position", set: "note = ''"},
		Stays:  "they record which agent owed an answer to which",
	},
	{Name: "documents", Stays: "which messages are the documents of channels"},
	{
		Name: "leases", Of: ofAgent,
		Columns: "scope id agent_id fence:number acquired_at:time expires_at:time left_over:number due_at:time renewed_at:time",
		Hidden:  "intent_no epoch", Stays: "until they run out",
	},
	{
		Name: "lease_waiters", Of: ofAgent, Columns: "place:number scope agent_id alive_until:time", Hidden: "intent_no",
		Stays: "as long as its calls wait",
	},
	{
		Name: "subscriptions", Of: "x.subscriber_id = ?",
		Columns: "id subscriber_id name intent_id channel_id event_types:json message_type correlation_id webhook_url use_endpoint:bool" +
			" acknowledge_seconds:number max_attempts:number created_at:time expires_at:time ended_at:time cleared:bool deleted_at:time" +
			" last_number:number offered_through:number consumer consumer_until:time last_error post_at:time scope:json include" +
			" reserved_through:number abandoned compose:bool digest_seconds:number max_chars:number made_by_key made_by_subject",
		Hidden: "subscription_no intent_no channel_no secret",
		Erased: "its subscriptions and its own log, with addresses, secrets and what they had to deliver",
	},
	{
		Name: "subscription_positions", Of: ofSubscription, Columns: "position:number", Hidden: "subscription_no intent_no",
		Stays: withSubscription,
	},
	{
		Name: "subscription_deliveries", Of: ofSubscription,
		Columns: "number:number position:number gathered_at:time attempts:number due_at:time given_up_at:time dead_at:time reason sources",
		Hidden:  "subscription_no intent_no channel_no", Stays: withSubscription,
	},
	{
		Name: "subscription_waiting", Of: ofSubscription,
		Columns: "position:number thread_position:number sender digest:bool size:number sent_at:time",
		Hidden:  "subscription_no intent_no channel_no", Stays: withSubscription,
	},
	{
		Name: "api_keys", Of: "x.created_by = ? OR x.invited_by = ?", Listed: "agents",
		Columns: "key_id label operator:bool agents:json roles:json scope:json read_only:bool human:bool messages_per_second:number" +
			" bytes_per_second:number created_at:time created_by expires_at:time last_used_at:time revoked_at:time version:number" +
			" channel_id max_agents:number invited_by invited_by_key guests_left:bool former_expires_at:time" +
			" rows_per_second:number stored_bytes_per_second:number",
		Hidden: "intent_no digest former_digest", Stays: "revoke those that name it with openintent keys revoke",
	},
	{Name: "api_keys_state", Stays: "whether keys have changed"},
	{
		Name: "guests", Of: ofAgent, Columns: "agent_id key_id place:number joined_at:time",
		Stays: "the name of a guest belongs to its invite for ever",
	},
	{
		Name: "console_sessions", Of: ofAgent, Columns: "agent_id human:bool key_id created_at:time used_at:time code_until:time",
		Hidden: "session_id secret_digest key_check", Erased: "who is signed in as it at the console",
	},
	{
		Name: "console_tokens", Of: "EXISTS (SELECT 1 FROM console_sessions s WHERE s.session_id = x.session_id AND s.agent_id = ?)",
		Columns: "issuer subject agents:json roles:json accepted_until:time renewing_at:time", Hidden: "session_id refresh_token",
		Stays: "they go with the sessions",
	},
	{Name: "console_state", Stays: "what cookies are signed with"},
	{Name: "search_words", Stays: wordIndex},
	{Name: "search_words_config", Stays: wordIndex},
	{Name: "search_words_data", Stays: wordIndex},
	{Name: "search_words_docsize", Stays: wordIndex},
	{Name: "search_words_idx", Stays: wordIndex},
	{Name: "search_documents", Stays: "which messages are in the index"},
	{Name: "search_cursors", Stays: "how far the index is"},
	{Name: "search_holes", Stays: "what the index lacks of a log"},
	{Name: "search_keepers", Stays: "which key has searched which intent, for seven days"},
	{Name: "search_removals", Stays: "which messages the index has to remove"},
	{Name: "search_state", Stays: "which version the index has"},
	{Name: "goose_db_version", Stays: book},
	{Name: "schema_versions", Stays: book},
	{Name: "schema_releases", Stays: book},
	{Name: "sqlite_sequence", Stays: "the highest numbers of SQLite's tables"},
}
