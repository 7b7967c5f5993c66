// Package operator plays an operator's day, which is a script (day.sh): it installs a server, upgrades it, changes and rotates keys, backs
// up, restores, and loses the primary of the database, while somebody sends messages all the time. In the end every message that was
// acknowledged is there, once and in order.
//
// `make test` plays the day with this program on each engine, without what takes longer. `make day` begins it with the program of the
// last release, and plays it once more on a cluster of PostgreSQL under Patroni, where it ends with a failover.
package operator
