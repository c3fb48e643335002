//go:build !unix

package store

import (
	"errors"
	"io/fs"
	"os"
)

func flock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func isOwn(fs.FileInfo) bool { return false }

func funlock(*os.File) error { return nil }
