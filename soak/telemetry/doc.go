// Package telemetry makes OpenTelemetry traces out of a finished record: one trace of the run with its
// phases, faults, purges and evidence, and one trace per spike with its slow operations, linked to what
// may have caused it. Spans are made afterwards with explicit times; nothing is traced while load runs.
//
// Traces go to an OTLP/JSON-lines file in the run directory, always, and to the endpoint that the standard
// OTEL_* variables name, if they do.
package telemetry
