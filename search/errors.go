package search

import (
	"time"

	"openintent/internal/fault"
)

var (
	errOff = fault.New(fault.Conflict, "SEARCH_OFF",
		"This server keeps no index of messages; whoever runs it can set OPENINTENT_SEARCH=true.")
	errTooMany = fault.New(fault.Quota, "TOO_MANY_SEARCHES",
		"%d searches with this API key are under way on this server; wait for their answers.", mostEach).After(time.Second)
	errTooSlow = fault.New(fault.Unavailable, "SEARCH_TOO_SLOW",
		"The search took more than %d seconds; ask for rarer words, or narrow it by a filter.", int(searchTime/time.Second)).After(time.Second)
)
