package daemon

import (
	"errors"
	"io/fs"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// maxModuleLog is the largest file of log flags for modules in bytes.
const maxModuleLog = 1 << 20

// moduleLog is that file as it was read; err is fs.ErrNotExist where there is none.
type moduleLog struct {
	path string
	text []byte
	err  error
}

func readModuleLog(l *conf.Loaded) moduleLog {
	path := conf.PerModuleLoggingFile.In(l.Config)
	if path == "" {
		return moduleLog{err: fs.ErrNotExist}
	}
	text, err := fileReader.Read(path, maxModuleLog)
	return moduleLog{path, text, err}
}

// setModules has parts of the program logged as the file says, and logs its wrong lines.
func (c *configuration) setModules(m moduleLog) {
	if m.err != nil {
		if !errors.Is(m.err, fs.ErrNotExist) {
			c.logger.Error("log flags of modules cannot be read", "file", m.path, "reason", m.err)
		}
		c.lines.SetModules(nil)
		return
	}
	modules, wrong := osmlog.ParseModules(m.path, m.text)
	for _, e := range wrong {
		c.logger.Warn(e.Error())
	}
	c.lines.SetModules(modules)
}
