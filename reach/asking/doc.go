// Package asking answers questions about an agent's reach. It decides who may ask: whoever may read the agent's record, and, where that is not
// there or not to be seen, the agent itself, the operator and those who share a list of members with it. The facts are the room's below.
package asking
