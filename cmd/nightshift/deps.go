//go:build deps

package main

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/expr-lang/expr"
	_ "github.com/go-zookeeper/zk"
	_ "github.com/goccy/go-yaml"
	_ "github.com/golang/snappy"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/shirou/gopsutil/v3/cpu"
	_ "github.com/shirou/gopsutil/v3/disk"
	_ "github.com/shirou/gopsutil/v3/load"
	_ "github.com/shirou/gopsutil/v3/mem"
	_ "github.com/shirou/gopsutil/v3/net"
	_ "github.com/shirou/gopsutil/v3/process"
	_ "github.com/urfave/cli/v2"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	_ "go.opentelemetry.io/otel/sdk/trace"
	_ "go.opentelemetry.io/proto/otlp/trace/v1"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "google.golang.org/protobuf/encoding/protojson"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
