package dsh

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// headerBytes is how far into a file a header is looked for.
const headerBytes = 1 << 20

// noCwd is the workspace folder of sessions without a workspace.
const noCwd = "_no-cwd"

// header is a header record with what its folder must be called.
type header struct {
	session.Header
	workspace, folder string
}

// parseHeader takes a header record apart. The reason says why a line is none;
// what could be read is filled in.
func parseHeader(line []byte) (h header, reason string) {
	h.Agent = session.DSH
	if !jsonl.Valid(line) {
		return h, "the first line is no JSON"
	}
	line = line[jsonl.SkipSpace(line, 0):]
	if !jsonl.IsObject(line) {
		return h, "the first line is no record"
	}
	var typ, version, id, created, cwd, parent, seed, origin, depth, preset []byte
	c := jsonl.Enter(line)
	for {
		name, v, ok := c.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "type":
			typ = v
		case "version":
			version = v
		case "id":
			id = v
		case "createdAt":
			created = v
		case "cwd":
			cwd = v
		case "parentSession":
			parent = v
		case "seedLength":
			seed = v
		case "origin":
			origin = v
		case "delegationDepth":
			depth = v
		case "agentPreset":
			preset = v
		}
	}
	fail := func(bad bool, why string) {
		if bad && reason == "" {
			reason = why
		}
	}
	var ok bool
	fail(!jsonl.Is(typ, "session"), "the first line is no session header")
	h.Version, ok = jsonl.SafeInt(version)
	fail(!jsonl.IsNumber(version), "the header has no numeric version")
	if !ok {
		h.Version = -1
	}
	h.ID = session.ID(jsonl.Text(id))
	fail(!jsonl.Filled(id), "the header has no id")
	h.CreatedAt, ok = jsonl.Natural(created)
	fail(!ok, "createdAt is no safe non-negative integer")
	h.DelegationDepth, ok = jsonl.Natural(depth)
	fail(!ok, "delegationDepth is no safe non-negative integer")
	h.Cwd = jsonl.Text(cwd)
	fail(cwd != nil && !jsonl.IsString(cwd), "cwd is no text")
	h.ParentSession = session.ID(jsonl.Text(parent))
	fail(parent != nil && !jsonl.IsString(parent), "parentSession is no text")
	if seed != nil {
		h.SeedLength, ok = jsonl.Natural(seed)
		fail(!ok, "seedLength is no safe non-negative integer")
	}
	if origin != nil {
		h.Origin = session.OriginSubagent
		fail(!jsonl.Is(origin, session.OriginSubagent), "origin is unknown")
	}
	h.AgentPreset = jsonl.Text(preset)
	fail(preset != nil && !jsonl.IsString(preset), "agentPreset is no text")

	h.workspace = noCwd
	if cwd != nil {
		h.workspace = projectKey(units(cwd))
	}
	h.folder = encodeSegment(units(id))
	return h, reason
}

// Identify implements reader.Reader.
func (*Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	if src := (reader.Source{Path: path}); onShelf(src) {
		t, h, err := openTable(ctx, src)
		if err == nil {
			t.close()
		}
		return h, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	h, _, err := readHeader(f, path, stamp.Size)
	if err != nil {
		return h.Header, err
	}
	rel, err := filepath.Rel(root, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if err != nil || len(parts) != 3 || parts[0] != h.workspace || parts[1] != h.folder {
		return h.Header, reader.Unreadable(path, 1, 0, "the header does not name the folder that the file is in")
	}
	return h.Header, nil
}

// readHeader reads the header record and returns the offset behind its line,
// or behind its frame. It returns ErrPending when the header may still come.
func readHeader(f io.ReaderAt, path string, size int64) (header, int64, error) {
	var line []byte
	var end int64
	var err error
	if compressed(path) {
		line, end, err = headerFrame(f, path, size)
	} else {
		line, end, err = headerLine(f, path, size)
	}
	if err != nil {
		return header{Header: session.Header{Agent: session.DSH}}, 0, err
	}
	h, reason := parseHeader(line)
	if reason != "" {
		return h, 0, reader.Unreadable(path, 1, 0, "%s", reason)
	}
	return h, end, nil
}

func headerLine(f io.ReaderAt, path string, size int64) ([]byte, int64, error) {
	lines := jsonl.NewLines(io.NewSectionReader(f, 0, min(size, headerBytes)), kept())
	line, err := lines.Next()
	switch {
	case err == nil:
		return line.Text, line.End, nil
	case !errors.Is(err, io.EOF):
		return nil, 0, err
	case size < headerBytes:
		return nil, 0, reader.ErrPending
	}
	return nil, 0, reader.Unreadable(path, 1, 0, "the first line is longer than a header")
}

func headerFrame(f io.ReaderAt, path string, size int64) ([]byte, int64, error) {
	frame, err := scanFrame(f, 0, size)
	switch {
	case err != nil:
		return nil, 0, err
	case frame.reason != "":
		return nil, 0, reader.Unreadable(path, 1, 0, "%s", frame.reason)
	case frame.torn && size < headerBytes:
		return nil, 0, reader.ErrPending
	case frame.torn || frame.end > headerBytes:
		return nil, 0, reader.Unreadable(path, 1, 0, "the first frame is longer than a header")
	}
	text, err := newFrameText()
	if err != nil {
		return nil, 0, err
	}
	defer text.Close()
	if err := text.reset(f, 0, frame.end, false); err != nil {
		return nil, 0, reader.Unreadable(path, 1, 0, "the first frame cannot be decoded")
	}
	lines := jsonl.NewLines(io.LimitReader(text, headerBytes+1), kept())
	line, err := lines.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, reader.Unreadable(path, 1, 0, "the first frame does not hold exactly one sound line")
	case err != nil:
		return nil, 0, reader.Unreadable(path, 1, 0, "the first frame cannot be decoded")
	}
	record := append([]byte(nil), line.Text...)
	if _, err := lines.Next(); !errors.Is(err, io.EOF) || lines.Rest() > 0 {
		return nil, 0, reader.Unreadable(path, 1, 0, "the first frame does not hold exactly one sound line")
	}
	return record, frame.end, nil
}

// units returns the UTF-16 units of a string value, lone surrogates included:
// folder names are made from them.
func units(v []byte) []uint16 {
	if !jsonl.IsString(v) {
		return nil
	}
	var out []uint16
	for b := v[1 : len(v)-1]; len(b) > 0; {
		if b[0] != '\\' {
			r, n := utf8.DecodeRune(b)
			out, b = utf16.AppendRune(out, r), b[n:]
			continue
		}
		if b[1] != 'u' {
			out, b = append(out, uint16(unescape(b[1]))), b[2:]
			continue
		}
		unit := uint16(0)
		for _, c := range b[2:6] {
			unit = unit<<4 | uint16(hexValue(c))
		}
		out, b = append(out, unit), b[6:]
	}
	return out
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
