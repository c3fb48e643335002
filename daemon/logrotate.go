package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"ibsm/atomicfile"
)

// Where logrotate has its rules, below the root folder. Its rule of ibsm's package includes
// those in rulesOfLogs.
const (
	rulesFolder = "etc/logrotate.d"
	rulesOfLogs = "var/lib/ibsm/logrotate.d"
)

// maxRotation bounds the bytes of a file of logrotate's that are looked at.
const maxRotation = 1 << 20

// rotatedLog is the log of a manager that runs.
type rotatedLog struct{ root, path string }

// rotate has logrotate rotate a log, "" for none, as long as this manager runs, at a port of the host.
func (d *daemon) rotate(path string) {
	if path == "" || d.conf.Fabric != "" || d.conf.IBSim || d.conf.Once || d.conf.DryRun {
		return
	}
	path, err := filepath.Abs(path)
	log := rotatedLog{"/", path}
	if err == nil {
		err = log.announce()
	}
	if err != nil {
		d.logger.Warn("the log will not be rotated", "file", path, "reason", err)
	}
	d.tasks.atEnd(log.withdraw)
}

// announce writes the rule, unless another one names the log: that of OpenSM's package, which then rotates
// it as before.
func (r rotatedLog) announce() error {
	if _, err := os.Stat(filepath.Join(r.root, rulesOfLogs)); errors.Is(err, fs.ErrNotExist) {
		return nil // no package of ibsm is installed
	}
	if r.named() {
		r.withdraw()
		return nil
	}
	if strings.ContainsAny(r.path, "*?[]{}\"\\\n") {
		return errors.New("logrotate does not support its name")
	}
	return atomicfile.Replace(r.rule(), 0o644, false, func(w io.Writer) error {
		// An OpenSM that has taken the log over after this process was killed needs a signal.
		_, err := fmt.Fprintf(w,
			"\"%s\" {\n\tignoreduplicates\n\tweekly\n\trotate 4\n\tcompress\n\tdelaycompress\n\tmissingok\n\tnotifempty\n"+
				"\tpostrotate\n\t\tpkill -USR1 -x opensm >/dev/null 2>&1 || true\n\tendscript\n}\n", r.path)
		return err
	})
}

// withdraw removes the rule.
func (r rotatedLog) withdraw() { os.Remove(r.rule()) }

// rule is the file of the rule.
func (r rotatedLog) rule() string {
	return filepath.Join(r.root, rulesOfLogs, url.PathEscape(r.path))
}

// named reports whether a rule of another package names the log.
func (r rotatedLog) named() bool {
	files, _ := filepath.Glob(filepath.Join(r.root, rulesFolder, "*"))
	for _, file := range append(files, filepath.Join(r.root, "etc/logrotate.conf")) {
		text, err := fileReader.Read(file, maxRotation)
		if err != nil {
			continue // as logrotate would
		}
		for line := range strings.Lines(string(text)) {
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "#") {
					break
				}
				if match, err := filepath.Match(strings.Trim(word, "\"'{"), r.path); match && err == nil {
					return true
				}
			}
		}
	}
	return false
}
