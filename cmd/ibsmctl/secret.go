package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ibsm/cmd/cli"
	"ibsm/keys"
	"ibsm/store"
)

// addSecretVerbs adds the verbs that make and carry the file of keys_file. They ask no manager.
func addSecretVerbs(cmd *cobra.Command) {
	var from string
	verb := func(use, short, long string, do func(cmd *cobra.Command, file string) error) *cobra.Command {
		v := onHost(cli.Takes(&cobra.Command{Use: use, Short: short, Long: long, Args: cli.Args(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return do(cmd, args[0])
			}}), "a secret")
		cmd.AddCommand(v)
		return v
	}
	passphrase := func(v *cobra.Command) {
		v.Flags().StringVar(&from, "passphrase-file", "",
			"read the passphrase from the first line of `FILE` instead of the terminal")
	}
	verb("new FILE", "create the secret of a subnet's managers", `
Creates a random secret and writes it to FILE, which only its owner can read and which must not
exist. Set keys_file to it in the configuration of all managers of the subnet: m_key, sm_key and
sa_key are derived from it if they are not set. Use export and import to copy it to the other
managers.`, func(cmd *cobra.Command, file string) error {
		secret, err := keys.New(rand.Reader)
		if err != nil {
			return err
		}
		return writeSecret(file, &secret, cmd.OutOrStdout())
	})
	verb("show FILE", "print the keys that are derived from a secret", `
Prints the m_key, sm_key and sa_key that are derived from the secret in FILE, for tools that must
send them: saquery --smkey SA_KEY, smpquery -y M_KEY. They are as secret as FILE.`, func(cmd *cobra.Command, file string) error {
		secret, err := readSecret(file)
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "m_key 0x%016x\nsm_key 0x%016x\nsa_key 0x%016x\n", secret.MKey(),
				secret.SMKey(), secret.SAKey())
		}
		return err
	})
	passphrase(verb("export [OPTION]... FILE", "encrypt the secret with a passphrase", `
Prints the secret in FILE, encrypted with a passphrase, as one line that you may send by mail or
chat. Send the passphrase by other means.`, func(cmd *cobra.Command, file string) error {
		secret, err := readSecret(file)
		if err != nil {
			return err
		}
		phrase, err := askPassphrase(from, true)
		if err != nil {
			return err
		}
		sealed, err := secret.Seal(phrase, rand.Reader)
		if err == nil {
			_, err = io.WriteString(cmd.OutOrStdout(), sealed)
		}
		return err
	}))
	passphrase(verb("import [OPTION]... FILE", "write a secret that export encrypted", `
Reads the output of export from standard input and writes the secret to FILE. FILE must not exist;
only its owner can read it.`, func(cmd *cobra.Command, file string) error {
		sealed, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), keys.MaxFile))
		if err != nil {
			return err
		}
		phrase, err := askPassphrase(from, false)
		if err != nil {
			return err
		}
		secret, err := keys.Open(string(sealed), phrase)
		if err != nil {
			return err
		}
		return writeSecret(file, &secret, cmd.OutOrStdout())
	}))
}

func readSecret(file string) (s keys.Secret, err error) {
	text, err := readUpTo(file, keys.MaxFile+1)
	if err != nil {
		return s, err
	}
	return keys.Parse(file, text)
}

// writeSecret writes a new file that only its owner can read, whole or not at all.
func writeSecret(file string, s *keys.Secret, stdout io.Writer) (err error) {
	// by a process that was killed while it wrote one. Where that fails, writing may succeed
	_, _ = store.RemoveUnfinished(file)
	if err = store.WriteSecret(file, s.Text()); errors.Is(err, fs.ErrExist) {
		return cli.WithHint(fmt.Errorf("%s exists already", file),
			"if all managers lose the secret, the subnet cannot be managed until its M_Key leases expire, or never without leases: keep the old secret until all managers have the new one")
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout,
		"wrote %s; name it as keys_file (keys.file in ibsm.toml) on all managers, on the master first\n", file)
	return err
}

// askPassphrase reads a passphrase from a file or the terminal, twice where it is new.
func askPassphrase(file string, isNew bool) (string, error) {
	if file != "" {
		text, err := readUpTo(file, keys.MaxFile)
		if err != nil {
			return "", err
		}
		line, _, _ := strings.Cut(string(text), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	}
	return askSecret("passphrase", "--passphrase-file", isNew)
}

// askSecret asks for a secret at the terminal, twice where it is new. option is what to use without a terminal.
func askSecret(what, option string, isNew bool) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", cli.WithHint(errors.New("there is no terminal to ask for the "+what), "use "+option)
	}
	defer tty.Close()
	ask := func(prompt string) (string, error) {
		fmt.Fprint(tty, prompt)
		b, err := term.ReadPassword(int(tty.Fd()))
		fmt.Fprintln(tty)
		return string(b), err
	}
	first, err := ask(what + ": ")
	if err != nil || !isNew {
		return first, err
	}
	if again, err := ask("again: "); err != nil || again != first {
		return "", errors.Join(err, fmt.Errorf("the two %ss differ", what))
	}
	return first, nil
}
