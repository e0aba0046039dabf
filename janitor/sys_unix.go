//go:build linux || darwin || freebsd

package janitor

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// blocks gives the allocated bytes (st_blocks counts 512 bytes each) and the identity of a file.
func blocks(fi fs.FileInfo) (allocated int64, device, inode uint64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512, uint64(st.Dev), uint64(st.Ino)
	}
	return fi.Size(), 0, 0
}

func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
