package net

import (
	"fmt"
	"io"
	"os"
)

// Load is the topology that a generator's specification (see IsSpec), or else the file of
// that name describes. Its errors are those of Generate, of Parse, and of a file that
// cannot be read or is larger than MaxFile.
func Load(spec string) (*Net, error) {
	if IsSpec(spec) {
		return Generate(spec)
	}
	f, err := os.Open(spec)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > MaxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", spec, MaxFile)
	}
	return Parse(spec, src)
}
