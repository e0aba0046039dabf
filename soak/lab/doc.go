// Package lab runs the patients: real servers on this host, each with its own directory, addresses and cgroup.
//
// A lab has one owner, the process that called Up: nightshift itself, or a supervisor (see Detach).
// Only the owner starts servers, because they die with it: every server carries a parent-death signal.
// Others ask the owner over its unix socket, with the protocol of package target.
//
// To add a system, write one file beside zookeeper.go that fills a recipe (artifacts, ports, files,
// launch, ready) and list it in recipes.
package lab
