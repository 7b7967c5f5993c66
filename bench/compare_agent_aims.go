package main

// agentAims are about receiving through an agent, as users of the SDKs do, on one engine.
func agentAims(engine string) []aim {
	where := onThisServer + engine
	bare, through := row{doSDKAsk, bareCalls, where}, row{doSDKAsk, goSDK, where}
	echo := func(library string) row { return row{doSDKAsk, library + echoSuffix, onEchoServer} }
	return []aim{
		atMost(1.5, "ask through the Go SDK's agent, 1 caller: p50, times bare calls, "+engine, times(through, bare, 1)),
		atLeast(1.8, "ask through the Go SDK's agent, 64 callers: of bare calls, "+engine, rates(through, bare, 64)),
		atLeast(1, "ask through Python's agent, asyncio, 64 callers: of its gRPC library alone, "+engine,
			rates(row{doSDKAsk, asyncioSDK, where}, echo(asyncioLibrary), 64)),
		atLeast(1.2, "ask through TypeScript's agent, 64 callers: of its gRPC library alone, "+engine,
			rates(row{doSDKAsk, typeScriptSDK, where}, echo(typeScriptLibrary), 64)),
	}
}
