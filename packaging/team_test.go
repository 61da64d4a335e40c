package packaging

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/yorehq/yore/internal/cli"
)

// service is a part of the compose file, as far as it is checked.
type service struct {
	Image       string
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
	DependsOn   yaml.Node `yaml:"depends_on"`
	Healthcheck struct{ Test []string }
	ReadOnly    bool   `yaml:"read_only"`
	StopGrace   string `yaml:"stop_grace_period"`
}

// accepted has the program itself read a command line, and says what is wrong with
// it: an unknown command, an unknown flag, a flag without its value.
func accepted(t *testing.T, args []string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(append(slices.Clone(args), "--help"), strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String(), "yore "+args[0]) {
		t.Errorf("yore %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
}

// reads reports whether the program reads a variable: YORE_NAME of each setting, and
// those beside, by the page that is made of them.
func reads(t *testing.T, name string) bool {
	t.Helper()
	page, setting := file(t, "../docs/configuration.md"), strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "YORE_"), "_", "-"))
	return strings.Contains(page, "`"+name+"`") || strings.Contains(page, "`"+setting+"`")
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)`)

// The compose file is one, what it starts is what a release ships, and the program
// takes the command lines and variables that stand in it.
func TestCompose(t *testing.T) {
	text := file(t, "team/compose.yaml")
	var c struct {
		Services map[string]service
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	yore, db, proxy := c.Services["yore"], c.Services["db"], c.Services["proxy"]
	if len(c.Services) != 3 || len(yore.Command) == 0 || len(proxy.Command) == 0 || len(db.Healthcheck.Test) == 0 {
		t.Fatalf("%+v", c.Services)
	}
	accepted(t, yore.Command)
	for _, line := range strings.Split(text, "\n") {
		if _, args, ok := strings.Cut(line, "docker compose run --rm yore "); ok && strings.HasPrefix(line, "#") {
			accepted(t, strings.Fields(args))
		}
	}
	for name := range yore.Environment {
		if !reads(t, name) {
			t.Errorf("yore is given %s, which it does not read", name)
		}
	}
	if !strings.Contains(file(t, "../.goreleaser.yaml"), strings.TrimSuffix(strings.Fields(yore.Image)[0], ":latest")) {
		t.Errorf("no release makes the image %s", yore.Image)
	}
	if !yore.ReadOnly || len(yore.Ports)+len(db.Ports) > 0 {
		t.Error("the server's files can be written, or others than the proxy can reach it or the database")
	}
	// The proxy leads to the port where the server listens, which the image tells.
	listen := yore.Command[slices.Index(yore.Command, "--listen")+1]
	if to := proxy.Command[slices.Index(proxy.Command, "--to")+1]; to != "yore"+listen || !strings.Contains(file(t, "container/Dockerfile"), "EXPOSE "+strings.TrimPrefix(listen, ":")) {
		t.Errorf("the server listens at %s, and the proxy asks %s", listen, to)
	}
	if i := slices.Index(yore.Command, "--host"); i < 0 || !strings.HasPrefix(yore.Command[i+1], "${YORE_HOST") || proxy.Command[slices.Index(proxy.Command, "--from")+1] != "${YORE_HOST}" {
		t.Error("the server and the proxy do not take one and the same name from .env")
	}
	if !strings.Contains(yore.Environment["YORE_DATABASE"], "host=db user="+db.Environment["POSTGRES_USER"]+" dbname="+db.Environment["POSTGRES_DB"]+" password=${POSTGRES_PASSWORD}") {
		t.Errorf("the server asks %s, and the database is made as %v", yore.Environment["YORE_DATABASE"], db.Environment)
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			if volume, _, _ := strings.Cut(v, ":"); !has(c.Volumes, volume) {
				t.Errorf("%s uses the volume %s, which nobody declares", name, volume)
			}
		}
		var waits map[string]struct{ Condition string }
		if s.DependsOn.Kind == yaml.MappingNode {
			if err := s.DependsOn.Decode(&waits); err != nil {
				t.Error(err)
			}
		}
		for on, w := range waits {
			if _, ok := c.Services[on]; !ok || w.Condition == "service_healthy" && len(c.Services[on].Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s to be %s", name, on, w.Condition)
			}
		}
	}
	// What the file wants of .env stands in the example, and nothing else.
	var wanted, given []string
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		wanted = append(wanted, m[1])
	}
	for _, line := range strings.Split(file(t, "team/env.example"), "\n") {
		if name, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			given = append(given, name)
		}
	}
	slices.Sort(wanted)
	slices.Sort(given)
	if wanted = slices.Compact(wanted); !slices.Equal(wanted, given) {
		t.Errorf("compose.yaml wants %v of .env, the example has %v", wanted, given)
	}
}

func has[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// unit reads a unit's settings by section and name, in their order.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	all, section := map[string][]string{}, ""
	for _, line := range strings.Split(file(t, name), "\n") {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		case !ok || section == "" || key != strings.TrimSpace(key):
			t.Errorf("%s: %q is no setting", name, line)
		default:
			all[section+key] = append(all[section+key], value)
		}
	}
	return all
}

// The units start what the Debian package installs, with command lines that the
// program takes; where systemd's own checker is installed, it is asked as well.
func TestUnits(t *testing.T) {
	const installed = "/usr/bin/yore"
	if !strings.Contains(file(t, "deb/nfpm.yaml"), "dst: "+installed+"\n") {
		t.Fatalf("the package does not install %s", installed)
	}
	for _, name := range []string{"team/yore-serve.service", "team/yore-push.service"} {
		u := unit(t, name)
		runs := append(slices.Clone(u["[Service]ExecStart"]), u["[Service]ExecStartPre"]...)
		if len(runs) == 0 || len(u["[Unit]Description"]) != 1 || len(u["[Install]WantedBy"]) != 1 {
			t.Errorf("%s: %v", name, u)
		}
		for _, line := range runs {
			words := strings.Fields(line)
			if words[0] != installed {
				t.Errorf("%s starts %s", name, words[0])
			}
			accepted(t, words[1:])
			// Every credential that is used is loaded.
			for _, m := range regexp.MustCompile(`\$\{CREDENTIALS_DIRECTORY\}/(\S+)`).FindAllStringSubmatch(line, -1) {
				if !slices.ContainsFunc(u["[Service]LoadCredential"], func(c string) bool { return strings.HasPrefix(c, m[1]+":") }) {
					t.Errorf("%s: nobody loads %s", name, m[1])
				}
			}
		}
		for _, m := range regexp.MustCompile(`YORE_[A-Z_]+`).FindAllString(file(t, name), -1) {
			if !reads(t, m) {
				t.Errorf("%s speaks of %s, which the program does not read", name, m)
			}
		}
		verify(t, name, installed)
	}
	// Longer than the server lets requests at work go on (drain in internal/serve).
	if u := unit(t, "team/yore-serve.service"); !slices.Equal(u["[Service]TimeoutStopSec"], []string{"30"}) || !strings.Contains(file(t, "../internal/serve/serve.go"), "const drain = 20 * time.Second") {
		t.Error("the unit may kill the server before it has drained")
	}
}

// verify asks systemd about a unit. The program need not be installed for it.
func verify(t *testing.T, name, installed string) {
	t.Helper()
	checker, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Logf("%s: systemd-analyze is not installed, and was not asked", name)
		return
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(copied, []byte(strings.ReplaceAll(file(t, name), installed, "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--man=no", copied}
	if strings.Contains(name, "push") {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.Command(checker, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(name)) {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}
