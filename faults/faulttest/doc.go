// Package faulttest is the conformance suite of faults, and what it runs on: a stand-in server with real processes
// and real signals, and a double of the host without any.
//
// A test package that uses the suite or a Patient lets stand-ins through first:
//
//	func TestMain(m *testing.M) {
//		faulttest.StandIn()
//		os.Exit(m.Run())
//	}
package faulttest
