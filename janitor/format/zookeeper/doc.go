// Package zookeeper reads the files of a ZooKeeper server: transaction logs, snapshots, epoch files and their names.
//
// It only reads, in one pass, with bounded memory, and judges nothing: whether a file may be deleted is the janitor's
// business. Everything takes an io.Reader, so that the same code reads a directory, a test's bytes and a fuzzer's.
//
// All integers in the files are big-endian. A string or buffer is an int32 length (-1 is null) and its bytes.
//
//	log       ZKLG version dbid | adler32 length payload 'B' | ... | zeros up to the preallocated size
//	snapshot  ZKSN version dbid sessions ACLs nodes "/" | seal | digest seal | last zxid seal
//	seal      adler32 of every byte before it, "/"
//
// To add a file type: give it a Kind and a rule in Classify, a reader that returns what it found and why it stopped
// (never an error for bad content, only for a failed read), a fuzz target, and an entry in the table of name_test.go.
package zookeeper
