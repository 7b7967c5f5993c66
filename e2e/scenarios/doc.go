// Package scenarios plays the three scenarios for which RFC-0021 was written (its section "Concrete Scenarios") over
// real sockets: with every agent over gRPC, with every agent over REST, and with both mixed.
package scenarios
