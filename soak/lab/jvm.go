package lab

import (
	"fmt"
	"slices"
	"strings"
)

// jvmArgs are the same for every Java server. The GC log counts uptime in nanoseconds, which no clock fault can bend;
// it is not rotated, because the JVM would reuse names: a start moves the old file away instead (see node.keepGCLog).
// The collector is fixed, because the JVM's own choice depends on the size of the host.
func jvmArgs(s Spec) []string {
	args := []string{
		fmt.Sprintf("-Xmx%dk", int64(s.Heap)>>10),
		"-Xlog:gc*,safepoint:file=gc.log:uptimenanos,level,tags:filecount=0",
		"-XX:+ExitOnOutOfMemoryError", // a server that lives on after it is a fault nobody ordered
		"-Djava.awt.headless=true",
		"-Duser.language=en",
		"-Dfile.encoding=UTF-8",
	}
	chosen := func(a string) bool {
		return strings.HasPrefix(a, "-XX:+Use") && strings.HasSuffix(a, "GC")
	}
	if !slices.ContainsFunc(s.JVM, chosen) {
		args = append(args, "-XX:+UseG1GC")
	}
	return args
}

// jvmEnv is the environment of servers: the user's, without what would add arguments to java behind our back.
func jvmEnv(env []string) []string {
	drop := []string{"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS=", "CLASSPATH=", "LC_ALL="}
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return slices.ContainsFunc(drop, func(p string) bool { return strings.HasPrefix(kv, p) })
	})
	// Without a UTF-8 locale Java can't open files whose path is not ASCII.
	return append(kept, "LC_ALL=C.UTF-8")
}
