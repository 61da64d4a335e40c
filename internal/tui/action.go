package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// copy sends a text to the terminal's clipboard (OSC 52, which also reaches the
// terminal at the other end of an SSH connection), and shows it, since many
// terminals ignore that. An id that could do harm when it is pasted is copied as
// the JSON string that names it.
func (m *Model) copy(what, text string) tea.Cmd {
	text = render.Name(text)
	m.notice = join(say(faint, what+" to the clipboard: "), quote(strong, text))
	return tea.SetClipboard(text)
}

// resume shows and copies the command that takes a session up again.
func (m *Model) resume(info query.Info) tea.Cmd {
	command := ""
	if m.o.Resume != nil && !m.ofTeam(info.Header.Key()) {
		command = m.o.Resume(info.Header)
	}
	if command == "" || strings.ContainsFunc(command, func(r rune) bool { return r < ' ' }) {
		m.notice = say(faint, "its agent has no command that resumes this session")
		return nil
	}
	m.notice = join(say(faint, "to the clipboard: "), quote(strong, command))
	return tea.SetClipboard(command)
}

// paged says that the pager has ended.
type paged struct{ err error }

// page opens a whole session in the pager; the screen is its own meanwhile.
func (m *Model) page(t query.Target) tea.Cmd {
	var cmd *exec.Cmd
	if m.o.Pager != nil {
		cmd = m.o.Pager()
	}
	if cmd == nil {
		m.notice = say(warning, "there is no pager: set PAGER")
		return nil
	}
	ctx, cancel := context.WithCancel(m.desk.ctx)
	p := &pager{cmd: cmd, write: func(w io.Writer) error { return transcript(ctx, m, t, w) }, cancel: cancel}
	return tea.Exec(p, func(err error) tea.Msg { return paged{err} })
}

// pager runs a command that reads what is written. It implements tea.ExecCommand.
type pager struct {
	cmd    *exec.Cmd
	write  func(io.Writer) error
	cancel context.CancelFunc
}

// SetStdin implements tea.ExecCommand: the pager's input is the session; it
// reads its keys from the terminal.
func (p *pager) SetStdin(io.Reader) {}

// SetStdout implements tea.ExecCommand.
func (p *pager) SetStdout(w io.Writer) { p.cmd.Stdout = w }

// SetStderr implements tea.ExecCommand.
func (p *pager) SetStderr(w io.Writer) { p.cmd.Stderr = w }

// Run implements tea.ExecCommand: it ends when the pager does, however much of
// the session is still to be written.
func (p *pager) Run() error {
	defer p.cancel()
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(in, 64<<10)
		err := p.write(out)
		if err == nil {
			err = out.Flush()
		}
		in.Close()
		written <- err
	}()
	ended := p.cmd.Wait() // closes the pipe, which ends the writing
	p.cancel()
	failed := <-written
	switch {
	case ended != nil:
		return ended
	case errors.Is(failed, syscall.EPIPE), errors.Is(failed, context.Canceled), errors.Is(failed, io.ErrClosedPipe), closed(failed):
		return nil // who was reading has read enough
	}
	return failed
}

// transcriptPiece is how many events are read at once: each may have megabytes.
const transcriptPiece = 20

// transcript writes a session's events with their whole texts, harmlessly.
func transcript(ctx context.Context, m *Model, t query.Target, w io.Writer) error {
	g, err := m.told(ctx, t)
	if err != nil {
		return err
	}
	for from := int64(0); ; {
		list, err := g.Passages(ctx, from, transcriptPiece, -1)
		if err != nil {
			return err
		}
		if from == 0 {
			h := list.Info.Header
			if _, err := fmt.Fprintf(w, "%s\n%s %s in %s, %s\n", titled(list.Info, plain).text(), h.Agent, render.Name(string(h.ID)), render.Workspace(h), render.Time(h.CreatedAt)); err != nil {
				return err
			}
		}
		for i := range list.Passages {
			p := &list.Passages[i]
			if _, err := fmt.Fprintf(w, "\n%s  %s\n", event(p.Seq, p.Type, p.State).text(), render.Time(p.Time)); err != nil {
				return err
			}
			for _, l := range render.Paragraphs(p.Text) {
				if _, err := fmt.Fprintf(w, "    %s\n", l); err != nil {
					return err
				}
			}
		}
		if from += int64(len(list.Passages)); len(list.Passages) == 0 || from >= list.Total {
			return nil
		}
	}
}
