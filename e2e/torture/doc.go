// Package torture puts several replicas on one PostgreSQL under a load of agents, breaks what can break, and proves
// from the clients' own records that nothing was lost.
//
// # Records and findings
//
// Everything that a client does or receives is recorded in a History: sends and asks with their outcomes, what every
// receiver got on each of its connections, and who had which right when. Check is a pure function from a History to
// Findings. It knows nothing about the server except what clients are promised:
//
//   - an acknowledged message reaches each receiver that followed from before and may see it all the while;
//   - a receiver gets the messages of a channel in the order in which they were stored, and that order agrees with the order
//     in which sends followed each other; only what comes again may come late, and the one post that a replica had begun before
//     it was frozen, if its agent could not see that message for a while;
//   - with a cursor each message comes once; with acknowledgements it may come again, under the same number and unchanged;
//   - nobody receives what it may not see;
//   - an answer belongs to its question, and one that was accepted reaches the asker;
//   - a send is stored once at most, and not at all when it was refused;
//   - an audited message is in the log once, and the log's chain holds;
//   - a send takes no longer because another replica is frozen, or because one key floods.
//
// # Time
//
// A Tick is a moment of the test's process: a call that ended at a lower tick than another began came before it. A
// right changes at some moment during the call that changes it. A receiver must get a message only if it certainly
// had the right, and may get it if it possibly had the right; so while the call lasts, both are accepted.
//
// # Faults
//
// The test in this package runs replicas as processes on a private PostgreSQL, and connects senders and receivers
// through proxies. A schedule, drawn from a seed, injects the faults. It kills and stops replicas, restarts
// PostgreSQL, ends PostgreSQL's connections, cuts the clients' connections, freezes replicas, and floods them with
// one key's messages. One replica neither sends nor receives notifications. Receivers come back to any replica with
// their cursor. The test fails on findings only; it prints the seed.
package torture
