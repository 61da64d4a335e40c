package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Credentials are masked in every answer. --reveal shows those of one answer to
// the person at the terminal, and only there: what a program runs has no terminal
// on standard input and standard error. Each use is on record before it is
// answered; where none can be written, nothing is revealed.

func revealFlag(cmd *cobra.Command, s *scope) {
	cmd.Flags().BoolVar(&s.reveal, "reveal", false, "show credentials, to you at a terminal alone; each use is put on record")
}

// mayReveal refuses whoever is no person at a terminal.
func (a *app) mayReveal() error {
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.errScreen {
		return fault.New(fault.InvalidArgs, "--reveal is for a person at a terminal: standard input and standard error have to be one")
	}
	return nil
}

// revealLog is the file that every use of --reveal is on record in.
func (a *app) revealLog() (string, error) {
	dir := a.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.InvalidConfig, "there is no home folder to keep a record of --reveal in")
		}
		switch runtime.GOOS {
		case "windows", "darwin":
			if dir, err = os.UserConfigDir(); err != nil {
				return "", fault.New(fault.InvalidConfig, "there is no folder to keep a record of --reveal in")
			}
		default:
			dir = filepath.Join(home, ".local", "state")
		}
	}
	return filepath.Join(dir, "yore", "reveal.log"), nil
}

// revealed is a line of the record.
type revealed struct {
	Time    string `json:"time"`
	Command string `json:"command"`
	Session string `json:"session,omitempty"`
}

// recordReveal appends one line: when, by which command, of which session once
// that is known. It holds nothing that was typed and nothing that is shown.
func (a *app) recordReveal(of *session.Key) (err error) {
	path, err := a.revealLog()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing is revealed, since it cannot be put on record: %w", err)
		}
	}()
	line := revealed{time.Now().UTC().Format(time.RFC3339), a.command, ""}
	if of != nil {
		line.Session = of.String()
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := regular(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.WriteString(f, string(text)+"\n")
	return err
}

// regular refuses what is no regular file: a link or a pipe in the place of the
// record would send it elsewhere, or wait.
func regular(path string) error {
	at, err := os.Lstat(path)
	if err == nil && !at.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	return err
}

// forgetReveals takes forgotten sessions' names out of the record: that something
// was revealed stays on it. Names are written over where they stand, as long as
// they are, since another process may be adding a line.
func (a *app) forgetReveals(goes map[session.Key]bool) (err error) {
	path, err := a.revealLog()
	if err != nil {
		return nil // there is no place for one, so there is none
	}
	if err := regular(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	names := map[string]bool{}
	for key := range goes {
		names[key.String()] = true
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	at := 0
	for line := range bytes.Lines(text) {
		var r revealed
		if json.Unmarshal(line, &r) == nil && names[r.Session] {
			name, err := json.Marshal(r.Session)
			if err != nil {
				return err
			}
			i := bytes.LastIndex(line, name)
			if i < 0 {
				return fmt.Errorf("%s has a line that was written by somebody else", path)
			}
			if _, err := f.WriteAt(bytes.Repeat([]byte("-"), len(name)-2), int64(at+i+1)); err != nil {
				return err
			}
		}
		at += len(line)
	}
	return f.Sync()
}
