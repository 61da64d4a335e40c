package jsonl

import (
	"testing"
	"time"
)

// The standard library's parser is the witness.
func TestInstant(t *testing.T) {
	day := time.Date(0, 1, 1, 23, 59, 58, 987_000_000, time.UTC)
	for {
		day = day.Add(41 * 24 * time.Hour)
		if day.Year() > 9999 {
			break
		}
		in := []byte(day.Format(`"2006-01-02T15:04:05.000Z"`))
		if got, ok := Instant(in); !ok || !got.Equal(day) {
			t.Fatalf("%s is %v, %t", in, got, ok)
		}
	}
	for _, in := range []string{
		`"2026-02-29T00:00:00.000Z"`, `"2024-02-29T00:00:00.000Z"`, `"2026-13-01T00:00:00.000Z"`, `"2026-01-31T24:00:00.000Z"`, `"2026-00-10T00:00:00.000Z"`,
		`"2026-01-10T23:60:00.000Z"`, `"2026-01-10T23:59:60.000Z"`, `"2026-01-10T23:59:59.999Z"`, `"2026-01-10t23:59:59.999Z"`, `"2026-01-10T23:59:59.999z"`,
		`"2026-01-10T23:59:59Z"`, `"2026-01-10T23:59:59.123456Z"`, `"2026-01-10T23:59:59.999+02:00"`, `"0000-01-01T00:00:00.000Z"`, `"0000-03-01T00:00:00.000Z"`,
		`"2026-01-10"`, `""`, `"20x6-01-10T23:59:59.999Z"`, `17`, `null`, `"2026-01-10T23:59:59.\u0030Z"`,
	} {
		want, err := time.Parse(time.RFC3339, Text([]byte(in)))
		got, ok := Instant([]byte(in))
		if ok != (err == nil) || ok && !got.Equal(want) {
			t.Errorf("%s is %v, %t, want %v, %v", in, got, ok, want, err)
		}
	}
}

func FuzzInstant(f *testing.F) {
	f.Add([]byte(`"2026-02-28T12:34:56.789Z"`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if !Valid(in) || !IsString(in) {
			return
		}
		want, err := time.Parse(time.RFC3339, Text(in))
		if got, ok := Instant(in); ok != (err == nil) || ok && got.UnixMilli() != want.UnixMilli() {
			t.Errorf("%s is %v, %t, want %v, %v", in, got, ok, want, err)
		}
	})
}
