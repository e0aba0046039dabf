package zookeeper

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxEpochFile bounds what ReadEpoch looks at: an int64 in decimal and a line end fit easily.
const maxEpochFile = 64

// ReadEpoch reads acceptedEpoch or currentEpoch: one decimal number on the first line, as QuorumPeer reads it. A server
// refuses to start on a file for which this gives an error.
func ReadEpoch(r io.Reader) (int64, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxEpochFile)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read epoch: %w", err)
	}
	v, err := strconv.ParseInt(strings.TrimRight(line, "\r\n"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse epoch: %w", err)
	}
	return v, nil
}
