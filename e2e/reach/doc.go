// Package reach tries, against running servers, what they say of the ways to an agent: that each way counts as long as it is open, on every
// server of a database, and no longer, however it ends.
package reach
