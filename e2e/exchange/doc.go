// Package exchange tests exchanges: many calls of a client on one stream. Other packages test what the calls mean. This one shows that
// they mean the same on an exchange, in which order they are stored, and how an exchange ends. Whole suites of other packages run over exchanges,
// too, when OPENINTENT_TEST_EXCHANGES is set.
package exchange
