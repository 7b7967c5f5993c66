// Package optional turns plain values into fields of the contract that may be unset, and back.
package optional
