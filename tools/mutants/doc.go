// Command mutants changes one operator after the other in the packages of pure rules, and says which changes their own tests notice.
//
// The mutator is gremlins, pinned in tools/gremlins. A mutant that lives is a condition that no test holds to its meaning, or one that is
// equal to the code it replaces: no input tells them apart. equal.yaml lists the equal ones and why they are; any other makes the command
// fail. So does an entry of equal.yaml that no mutant matches any more. A condition that no test of its package reaches is only counted.
//
//	scripts/mutants.sh [keys webhooks ...]
//
// Files, from the first to read: targets.go (what is mutated), run.go (gremlins, on a copy of the code), go_command.go (what stands between
// gremlins and the go command), test_command.go (how much memory a test may use), equal.go (mutants that nothing can notice).
package main
