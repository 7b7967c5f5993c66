// Package leases lets many agents work on a few scopes under leases, and proves that no resource ever takes the work of two holders
// at a time.
//
// Each scope has a resource beside the server, as a repository or a deployment is one. It remembers the highest fence that it saw
// and refuses writes with lower ones. Check is a pure function from the history of one scope to findings. It knows the promises to
// clients and nothing of the server. Its own tests plant faults in histories.
//
// The test runs two replicas on PostgreSQL and one on SQLite, with clocks that it steps back and forth. Agents acquire scopes, wait
// for them, renew and release. They freeze and write with an old fence, fall silent, lose access and come back. Commits fail or
// lose their acknowledgement, and replicas restart. `make leases ROUNDS=1000` runs more rounds.
package leases
