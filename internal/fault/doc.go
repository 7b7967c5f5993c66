// Package fault defines the one form in which domain code reports a refusal or a failure.
//
// A Fault has a Kind (what sort of refusal it is), a stable Reason that programs branch on, one public sentence for
// people, and optionally a hidden cause for the log. Domain packages return faults and know nothing of gRPC or HTTP;
// package server turns a Kind into a code and a status in one ordered table.
//
// The public parts (Message, Fields, Metadata) go to clients. They never hold SQL, stack traces, keys, or names
// and contents that the caller may not see. The cause is for the server's own log only.
package fault
