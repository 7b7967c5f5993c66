package repomesh

// catalog lists the actions in the order in which a model meets them.
var catalog = []action{
	eventLog, eventList, eventInbox, eventSearch, eventThread,
	lockAcquire, lockRenew, lockRelease,
	taskCreate, taskList, taskClaim, taskUpdate,
	agentRegister, agentHeartbeat, agentList,
}
