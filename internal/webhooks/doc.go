// Package webhooks safely posts single requests to addresses that strangers choose, and reports how each post went. It knows no
// database and no subscriptions: the caller of Post decides what to post, when to post it, and what a failure means.
//
// # Model
//
//	Check(url)            does the URL's text show that Post would refuse it?
//	Post(ctx, request)    sign ──> wait for a place ──> circuit ──> dial (guarded) ──> answer ──> Result
//	Backoff(attempt, …)   how long to wait before the next attempt
//
// Post signs requests according to Standard Webhooks (signature.go). A Result says whether the request was delivered (a 2xx
// answer). If it was not, the Result has one sentence about the reason, which the address's owner may see.
//
// # What holds
//
//   - Post does not connect to an address in a private, loopback, link-local or otherwise reserved network unless the
//     configuration allows that network. The guard judges the address of every connection attempt after names are resolved, so
//     it does not help an attacker if a name resolves to another address the next time. Check only tells the owner of a plainly
//     forbidden address so immediately.
//   - Post uses no proxy, follows no redirects and keeps no cookies. It reads a few KiB of an answer's body and drops them.
//   - Every post ends within Config.Timeout, whatever the other side does.
//   - At most Concurrency posts to one endpoint (a URL) are under way. After several failures in a row the endpoint's circuit
//     opens: posts return immediately as PutOff until a pause is over, and then a single post probes the endpoint. Other
//     endpoints are not affected: posts to endpoints that fail, or have never answered, use separate places among all posts
//     that are under way.
//   - No sentence and no log line contains a secret, a resolved address or a part of an answer.
//
// # What happens on failure
//
// Every failure becomes a Result; this package never tries again. Only an answer's status decides: a request with a 2xx answer
// was delivered, even if the answer breaks off or never ends. If the context of a post ends, the Result says so, and the post
// does not count against the endpoint. Circuits are kept in memory for the most recently used endpoints, so a restart, or posts
// to very many other endpoints, close them.
package webhooks
