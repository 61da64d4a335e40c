package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// table is the bars in Markdown.
func table(all []result) string {
	var b strings.Builder
	b.WriteString("| | bar | measured | |\n| --- | ---: | ---: | --- |\n")
	for i := range all {
		r := &all[i]
		bound, said := "≤", figure(r.measured, r.unit)
		if r.least {
			bound = "≥"
		}
		switch {
		case r.silent:
			said = "unknown"
		case r.low < r.high:
			said += " (" + figure(r.low, "") + " to " + figure(r.high, "") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s |\n", r.name, bound, figure(r.bar, r.unit), said, map[bool]string{true: "reached", false: "**missed**"}[r.reached()])
	}
	return b.String()
}

func figure(v float64, unit string) string {
	text := fmt.Sprintf("%.3g", v)
	if v >= 100 {
		text = fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}

// machine is the line that a measurement is worthless without.
func machine(now time.Time) string {
	kind := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				kind = strings.TrimSpace(model)
				break
			}
		}
	}
	return fmt.Sprintf("Measured on %s: %s, %d cores, %s/%s, %s.", now.Format(time.DateOnly), kind, runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version())
}
