// Package webhooks posts one request at a time to an address that a stranger chose, and lives to tell the caller how it
// went. It knows no database and no subscription: whoever calls Post decides what is posted, when, and what a failure means.
//
// # Model
//
//	Check(url)            may this address be posted to, as far as its text tells
//	Post(ctx, request)    sign ──> wait for a place ──> circuit ──> dial (guarded) ──> answer ──> Result
//	Backoff(attempt, …)   how long to wait before the next attempt
//
// Requests are signed as Standard Webhooks says (signature.go). A Result is whether the request was delivered (a 2xx answer),
// and if not, one sentence about why that may be shown to the address's owner.
//
// # What holds
//
//   - No connection is made to an address in a private, loopback, link-local or otherwise reserved network unless the
//     configuration allows that network. The guard looks at the address of every connection attempt, after names are
//     resolved, so a name that changes its mind between looking and connecting gains nothing. Check only spares the owner of
//     a plainly forbidden address the wait.
//   - No proxy is used, no redirect followed, no cookie kept. Of an answer's body a few KiB are read and thrown away.
//   - Every post ends within Config.Timeout, whatever the other side does.
//   - To one endpoint (a URL) at most Concurrency posts are under way. After several failures in a row its
//     circuit opens: posts come back at once, Held, until a pause is over; then a single one probes. Other endpoints notice
//     nothing of that: posts to endpoints that fail, or have not answered yet, have places of their own among all posts that
//     are under way.
//   - No sentence and no log line holds a secret, a resolved address or a part of an answer.
//
// # What happens on failure
//
// Every failure is a Result; nothing is tried again here. An answer's status alone decides: an answer that breaks off or
// never ends after a 2xx status was delivered. A post whose context ends tells so and does not count against the endpoint.
// Endpoints' circuits are kept in memory for the endpoints used last, so a restart, or very many other endpoints, closes them.
package webhooks
