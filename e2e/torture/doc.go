// Package torture runs several replicas on one PostgreSQL under a load of agents and breaks what can break. It proves from the
// clients' records that nothing was lost.
//
// # Records and findings
//
// Everything that a client does or receives is recorded in a History: sends, asks and reactions with their outcomes, everything that each
// receiver got on each of its connections, and which agent had which right when. Check is a pure function from a History to
// Findings. It knows nothing about the server except the promises to clients:
//
//   - an acknowledged message reaches each receiver that followed before the send and may see the message the whole time;
//   - a receiver gets the messages of a channel in the order in which they were stored, and that order agrees with the order in
//     which sends followed each other; only two kinds may come late: repetitions, and the one post that a replica had begun
//     before it was frozen, if its agent could not see that message for a while;
//   - with a cursor, each message comes once; with acknowledgements, it may come again, unchanged and under the same number;
//   - nobody receives what it may not see;
//   - an acknowledged reaction reaches each receiver that asked for annotations and may see the message the whole time, once with
//     each cursor; who did not ask gets none;
//   - messages and annotations have one order, which is the same for all receivers, and a reaction comes after its message;
//   - nobody can send a message to an agent that refuses its sender, from the answer to the refusal on;
//   - an answer belongs to its question, and an accepted answer reaches the asker;
//   - a send is stored at most once, and not at all if it was refused;
//   - an audited message is in the log once, and the log's chain is intact;
//   - thirty seconds after an agent has gone, no replica calls it live by a stream;
//   - a send does not take longer because another replica is frozen, or because one key floods.
//
// At the end the rows of the database must keep the rules of `openintent check`, too.
//
// # Time
//
// A Tick is a moment of the test's process. If a call ended at a lower tick than another call began, it came first. A right
// changes at some moment during the call that changes it. A receiver must get a message only if it certainly had the right, and
// may get it if it possibly had the right. So both outcomes are accepted while the call lasts.
//
// # Faults
//
// The test in this package runs replicas as processes on a private PostgreSQL, and connects senders and receivers through
// proxies. A schedule, drawn from a seed, injects the faults. It kills and stops replicas, restarts PostgreSQL, ends
// PostgreSQL's connections, cuts the clients' connections, freezes replicas, and floods them with messages and waits of one key. One
// replica neither sends nor receives notifications. Receivers reconnect to any replica with their cursors. The test prints the
// seed, and fails only if there are findings.
//
// # Releases
//
// With the build tag upgrade, another test replaces the replicas by those of another release, in both directions, in place of the faults
// (releases_test.go). The agents then use only what both releases have.
//
// # Failovers
//
// With the build tag failover, the same clients use two replicas on a cluster of PostgreSQL under Patroni, which
// scripts/with-patroni.sh runs with the configuration of docs/cluster.md (failover_test.go). The cluster loses its primary in four
// ways, in turn. The test also measures how soon calls succeed again once the new primary accepts writes. A second test lets a
// failover lose commits, and checks that they are named and not served (failover_losses_test.go). Run them with `make failover`.
package torture
