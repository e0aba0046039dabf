// Package guardian keeps faults from outliving the tool. A guardian is a second process of the same binary, in a
// session of its own. It holds the read end of a pipe whose write end only the tool holds: when the tool ends, however
// it ends, the kernel closes the pipe, and the guardian undoes what the journal says is in effect. While the tool
// lives, the guardian reverts what has outlived its life, for a tool can hang.
package guardian
