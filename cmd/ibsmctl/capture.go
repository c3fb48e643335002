package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/mad/capture"
	"ibsm/plural"
)

// captureFile is the file of ibsmctl capture if none is named.
const captureFile = "ibsm-capture.pcapng.gz"

func newCapture(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "capture [FILE] [OPTION]...", Short: "record the packets of a heavy sweep, without keys",
		Args: cli.Args(0, 1), Long: `
Requests a heavy sweep and records the packets between the manager and all devices until one
second after its end: subnet management, and the performance management and congestion control
requests sent meanwhile. FILE (default: ` + captureFile + `) is compressed pcapng. Wireshark
opens it, and ibsm --fabric capture:FILE simulates the recorded devices. "-" is standard output.

The file contains names, GUIDs and P_Keys, but no M_Keys, SM_Keys or CC_Keys. A running manager
reads few tables in a sweep; use ibsm --record FILE to record a complete start.`, Example: `  ibsmctl capture
  ibsm --fabric capture:` + captureFile + ` -f stdout
`}
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		name := captureFile
		if len(args) > 0 {
			name = args[0]
		}
		return a.capture(ctx, name, stdout)
	})
	return c
}

// captured describes the file of a capture in JSON.
type captured struct {
	File    string `json:"file"`
	Bytes   int    `json:"bytes"`
	Packets int    `json:"packets"`
	End     string `json:"end"` // why the recording ended
}

// capture gets a recording, and writes it to a file.
func (a *asker) capture(ctx context.Context, name string, stdout io.Writer) error {
	body, err := a.Open(ctx, http.MethodPost, "/v1/capture", nil)
	if err != nil {
		return a.explain(err)
	}
	defer body.Close()
	const most = capture.MaxSize + 1<<20
	file, err := io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the reply is incomplete")
	case err != nil:
		return err
	case len(file) > most:
		return fmt.Errorf("the reply is longer than %d bytes", most)
	}
	f, err := capture.Read(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("invalid reply: %w", err)
	}
	if name == "-" {
		_, err := stdout.Write(file)
		return err
	}
	if err := atomicfile.Write(name, 0o600, file); err != nil {
		return err
	}
	if a.json {
		return writeJSON(stdout, captured{name, len(file), len(f.Records), f.End})
	}
	_, err = fmt.Fprintf(stdout, "%s: %s in %s; end: %s\n", printable(name), plural.Of(len(f.Records), "packet"),
		plural.Of(len(file), "byte"), printable(f.End))
	return err
}
