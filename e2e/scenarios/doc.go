// Package scenarios plays the three scenarios for which RFC-0021 was written (its section "Concrete Scenarios") over real
// sockets: every agent over gRPC, every agent over REST, and some over the one and some over the other.
package scenarios
