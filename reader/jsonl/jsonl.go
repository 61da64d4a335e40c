// Package jsonl owns what readers of line-delimited JSON have in common: lines
// of bounded size out of a stream of any (Lines), and a walk over valid JSON
// that keeps a value's bytes, number forms and repeated names (Cursor, Field). A
// record is looked into level by level; an Index of its line, made by the one
// pass that checks it, keeps that from being a pass for each level.
//
// It knows no agent and no event: what a line means is the business of the
// reader above it. Start at Lines.Next.
package jsonl
