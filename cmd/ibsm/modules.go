package main

import (
	"errors"
	"io/fs"
	"os"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// maxModuleLog is the largest file of log flags for modules.
const maxModuleLog = 1 << 20

// readModuleLog reads that file.
func readModuleLog(l *conf.Loaded) (path string, text []byte, err error) {
	path = conf.PerModuleLoggingFile.In(l.Config)
	if path == "" {
		return "", nil, fs.ErrNotExist
	}
	info, err := os.Stat(path)
	if err != nil {
		return path, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxModuleLog {
		return path, nil, errors.New("want a plain file of 1 MiB at most")
	}
	text, err = os.ReadFile(path)
	return path, text, err
}

// keepModules has parts of the program logged as the file of log flags for modules now
// says. Lines of it that are wrong are told of.
func (f *inForce) keepModules() {
	path, text, err := readModuleLog(f.now)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.logger.Error("log flags of modules cannot be read", "file", path, "reason", err)
		}
		f.lines.SetModules(nil)
		return
	}
	modules, wrong := osmlog.ParseModules(path, text)
	for _, e := range wrong {
		f.logger.Warn(e.Error())
	}
	f.lines.SetModules(modules)
}
