package serve_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/yorehq/yore/postgres"
)

// What was done is counted, in the text format of Prometheus, and names nobody.
func TestMeters(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	token := r.mint("acme", "ada", both, "/w")
	m.begin("/w", "one")
	m.say("/w", "one", 0, "the linker fails")
	m.push(r.server(token))
	for range 3 {
		if code, body, _ := r.do("GET", "/v1/list", token, ""); code != 200 {
			t.Fatal(code, body)
		}
	}
	r.do("GET", "/v1/list", "yore_none", "")
	r.do("GET", "/v1/qzsecret", token, "")
	r.do("POST", "/v1/tools/session_search", token, `{"arguments":{"query":"linker"}}`, "Content-Type", "application/json")
	r.do("POST", "/v1/tools/session_qzsecret", token, `{"arguments":{}}`, "Content-Type", "application/json")
	asks, _, err := r.db.Mint(t.Context(), postgres.Token{Tenant: "ops", Person: "prometheus", Rights: []string{"metrics"}})
	if err != nil {
		t.Fatal(err)
	}
	code, text, h := r.do("GET", "/metrics", asks, "")
	if code != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatal(code, h, text)
	}
	if strings.Contains(text, "qzsecret") || strings.Contains(text, "ada") || strings.Contains(text, "acme") {
		t.Errorf("somebody is named:\n%s", text)
	}
	sample := regexp.MustCompile(`^([a-z_]+)(\{(?:[a-z]+="[^"\\]*",?)+\})? ([0-9.e+-]+)$`)
	values, typed, last := map[string]float64{}, map[string]string{}, -1.0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f := strings.Fields(line); f[0] == "#" {
			if f[1] == "TYPE" {
				typed[f[2]] = f[3]
			}
			continue
		}
		got := sample.FindStringSubmatch(line)
		if got == nil {
			t.Fatalf("not a sample: %q", line)
		}
		v, err := strconv.ParseFloat(got[3], 64)
		if err != nil || typed[got[1]] == "" && typed[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(got[1], "_bucket"), "_sum"), "_count")] != "histogram" {
			t.Errorf("%q has no type, or no value: %v", line, err)
		}
		if _, twice := values[got[1]+got[2]]; twice {
			t.Errorf("%q comes twice", line)
		}
		values[got[1]+got[2]] = v
		if !strings.HasSuffix(got[1], "_bucket") {
			last = -1
		} else if v < last {
			t.Errorf("%q is less than the bucket before it", line)
		} else {
			last = v
		}
	}
	for name, want := range map[string]float64{
		`yore_requests_total{path="/v1/{what}",status="200"}`:          3,
		`yore_requests_total{path="/v1/{what}",status="401"}`:          1,
		`yore_request_seconds_count{path="/v1/{what}"}`:                5,
		`yore_request_seconds_bucket{path="/v1/{what}",le="+Inf"}`:     5,
		`yore_tool_calls_total{tool="session_search",answered="true"}`: 1,
		`yore_tool_calls_total{tool="unknown",answered="false"}`:       1,
		`yore_requests_total{path="/v1/tools/{tool}",status="400"}`:    1,
		`yore_pushed_events_total`:                                     1,
		`yore_requests_running`:                                        1,
		`yore_pushes_running`:                                          0,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
