// Package packaging holds the tests that need nothing but the source: that the
// ways to make a release say the same. It holds no code; check.sh installs and
// runs the packages themselves. Start at README.md.
package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// content is a file of the Debian package, as both configurations write it.
type content struct {
	Src, Dst string
	FileInfo struct{ Mode uint32 } `yaml:"file_info"`
}

// deb is what both say of the package.
type deb struct {
	Section, Priority, Maintainer, Homepage, License, Description string
	Recommends                                                    []string
	Contents                                                      []content
	Deb                                                           struct{ Compression string }
}

type release struct {
	Env    []string
	Before struct{ Hooks []string }
	Builds []struct {
		Main, Binary                 string
		Goos, Goarch, Flags, Ldflags []string
	}
	Archives []struct {
		Formats      []string
		NameTemplate string `yaml:"name_template"`
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
	Nfpms []struct {
		deb    `yaml:",inline"`
		Bindir string
	}
	Dockers []struct {
		Dockerfile string
		Platforms  []string
	} `yaml:"dockers_v2"`
}

func goreleaser(t *testing.T) release {
	t.Helper()
	var r release
	if err := yaml.Unmarshal([]byte(file(t, "../.goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.Nfpms) != 1 || len(r.Dockers) != 1 {
		t.Fatalf("not one of each: %d builds, %d archives, %d packages, %d images", len(r.Builds), len(r.Archives), len(r.Nfpms), len(r.Dockers))
	}
	return r
}

const script = "../tools/release/run.sh"

// systems are those that tools/release/run.sh builds for when not told.
func systems(t *testing.T) []string {
	t.Helper()
	m := regexp.MustCompile(`set -- ((?:[a-z]+/[a-z0-9]+ ?)+)`).FindStringSubmatch(file(t, script))
	if m == nil {
		t.Fatal("the systems are not found in " + script)
	}
	return strings.Fields(m[1])
}

// TestSameBytes: goreleaser builds with the flags of tools/release/run.sh, for the
// same systems, under the same names.
func TestSameBytes(t *testing.T) {
	r := goreleaser(t)
	b := r.Builds[0]
	m := regexp.MustCompile(`go build (.+) -ldflags "([^"]+)" -o "\$out/\$name" (\S+)`).FindStringSubmatch(file(t, script))
	if m == nil {
		t.Fatal("the build is not found in " + script)
	}
	if got := strings.Join(b.Flags, " "); got != m[1] {
		t.Errorf("goreleaser builds with %s, %s with %s", got, script, m[1])
	}
	if got := strings.ReplaceAll(strings.Join(b.Ldflags, " "), "{{ .Env.YORE_RELEASE }}", "$version"); got != m[2] {
		t.Errorf("goreleaser links with %s, %s with %s", got, script, m[2])
	}
	if b.Main != m[3] || b.Binary != "yore" {
		t.Errorf("goreleaser builds %s as %s, %s builds %s", b.Main, b.Binary, script, m[3])
	}
	for _, e := range []string{"CGO_ENABLED=0", "GOFLAGS="} {
		if !slices.Contains(r.Env, e) || !strings.Contains(file(t, script), e+" ") {
			t.Errorf("%s is not in both environments", e)
		}
	}
	var all []string
	for _, system := range b.Goos {
		for _, architecture := range b.Goarch {
			all = append(all, system+"/"+architecture)
		}
	}
	if d := cmp.Diff(systems(t), all); d != "" {
		t.Errorf("systems (-%s +.goreleaser.yaml):\n%s", script, d)
	}
	if a := r.Archives[0]; !slices.Equal(a.Formats, []string{"binary"}) || a.NameTemplate != "yore_{{ .Os }}_{{ .Arch }}" || r.Checksum.NameTemplate != "SHA256SUMS" {
		t.Errorf("goreleaser names what is downloaded %+v, its list %s", a, r.Checksum.NameTemplate)
	}
}

// TestOneDebianPackage: nfpm.yaml and .goreleaser.yaml describe one package, out
// of files that extras.sh and the build make.
func TestOneDebianPackage(t *testing.T) {
	var own deb
	if err := yaml.Unmarshal([]byte(file(t, "deb/nfpm.yaml")), &own); err != nil {
		t.Fatal(err)
	}
	n := goreleaser(t).Nfpms[0]
	theirs := n.deb
	extras := file(t, "extras.sh")
	made := func(src string) {
		if name := filepath.Base(src); !strings.Contains(extras, `"$out/`+name+`"`) && !strings.HasSuffix(name, ".cdx.json") && name != "${YORE_BINARY}" {
			t.Errorf("extras.sh does not make %s", name)
		}
	}
	place := func(list []content) (places []string) {
		for _, c := range list {
			made(c.Src)
			places = append(places, fmt.Sprintf("%o %s %s", c.FileInfo.Mode, c.Dst, strings.TrimPrefix(filepath.Ext(c.Src), ".")))
		}
		slices.Sort(places)
		return places
	}
	// goreleaser puts the binary there by itself.
	theirs.Contents = append(theirs.Contents, content{Src: "x.cdx.json", Dst: n.Bindir + "/yore"})
	theirs.Contents[len(theirs.Contents)-1].FileInfo.Mode = 0o755
	ours, others := place(own.Contents), place(theirs.Contents)
	for _, list := range [][]string{ours, others} {
		for i, p := range list {
			if strings.Contains(p, "/bin/yore ") {
				list[i] = "the binary, " + p[:strings.LastIndex(p, " ")]
			}
		}
	}
	slices.Sort(ours)
	slices.Sort(others)
	if d := cmp.Diff(ours, others); d != "" {
		t.Errorf("files (-nfpm.yaml +.goreleaser.yaml):\n%s", d)
	}
	own.Contents, theirs.Contents = nil, nil
	if d := cmp.Diff(own, theirs); d != "" {
		t.Errorf("package (-nfpm.yaml +.goreleaser.yaml):\n%s", d)
	}
}

// TestNpmSystems: there is an npm package for each system of a release.
func TestNpmSystems(t *testing.T) {
	var all []string
	for _, m := range regexp.MustCompile(`\["([a-z]+)", "([a-z0-9]+)", "[a-z0-9]+", "[a-z0-9]+"\]`).FindAllStringSubmatch(file(t, "npm/pack.mjs"), -1) {
		all = append(all, m[1]+"/"+m[2])
	}
	if d := cmp.Diff(systems(t), all); d != "" {
		t.Errorf("systems (-%s +pack.mjs):\n%s", script, d)
	}
}

// TestManifests: Homebrew's formula and Scoop's manifest name each system's own
// file with its own checksum. The checksums are made up, one for each file.
func TestManifests(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("not run: there is no bash")
		return
	}
	dir := t.TempDir()
	sums := map[string]string{}
	list := ""
	for i, system := range systems(t) {
		name := "yore_" + strings.ReplaceAll(system, "/", "_")
		if strings.HasPrefix(system, "windows/") {
			name += ".exe"
		}
		sums[name] = strings.Repeat(fmt.Sprintf("%x", i+1), 64)
		// The bills of materials stand in the list as well.
		list += fmt.Sprintf("%s  %s\n%s  %s.cdx.json\n", sums[name], name, strings.Repeat("f", 64), name)
	}
	put := func(text string) string {
		path := filepath.Join(dir, "SHA256SUMS")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(version string) error {
		out, err := exec.Command(bash, "manifests.sh", put(list), version, dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := run("v1.2.3"); err != nil {
		t.Fatal(err)
	}
	const files = "https://github.com/yorehq/yore/releases/download/v1.2.3/"

	formula := file(t, filepath.Join(dir, "Formula/yore.rb"))
	var named []string
	blocks := regexp.MustCompile(`on_(macos|linux|arm|intel) do|url "([^"]+)"\s+sha256 "([0-9a-f]+)"`).FindAllStringSubmatch(formula, -1)
	system := ""
	for _, b := range blocks {
		switch b[1] {
		case "macos":
			system = "darwin"
		case "linux":
			system = "linux"
		case "arm", "intel":
			named = append(named, "yore_"+system+"_"+map[string]string{"arm": "arm64", "intel": "amd64"}[b[1]])
		default:
			name := named[len(named)-1]
			if b[2] != files+name || b[3] != sums[name] {
				t.Errorf("the formula has for %s %s with %s, want %s", name, b[2], b[3], sums[name])
			}
		}
	}
	if len(named) != 4 || strings.Count(formula, "url ") != 4 || strings.Count(formula, "\n  end\n")+strings.Count(formula, "\nend\n") < 5 {
		t.Errorf("the formula is not whole:\n%s", formula)
	}

	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-c", filepath.Join(dir, "Formula/yore.rb")).CombinedOutput(); err != nil {
			t.Errorf("the formula is no Ruby: %s", out)
		}
	}

	var scoop struct {
		Version, Bin, License string
		Architecture          map[string]struct{ URL, Hash string }
		Autoupdate            struct {
			Architecture map[string]struct{ URL string }
		}
	}
	if err := json.Unmarshal([]byte(file(t, filepath.Join(dir, "bucket/yore.json"))), &scoop); err != nil {
		t.Fatal(err)
	}
	for architecture, name := range map[string]string{"64bit": "yore_windows_amd64.exe", "arm64": "yore_windows_arm64.exe"} {
		got := scoop.Architecture[architecture]
		if got.URL != files+name+"#/yore.exe" || got.Hash != sums[name] {
			t.Errorf("Scoop has for %s %+v", architecture, got)
		}
		if next := strings.ReplaceAll(scoop.Autoupdate.Architecture[architecture].URL, "$version", "1.2.3"); next != got.URL {
			t.Errorf("Scoop would update %s from %s, not %s", architecture, next, got.URL)
		}
	}
	if scoop.Version != "1.2.3" || scoop.Bin != "yore.exe" || len(scoop.Architecture) != 2 {
		t.Errorf("Scoop's manifest is %+v", scoop)
	}

	// A list that lacks a file, or has it twice, gives nothing.
	whole := list
	for what, broken := range map[string]string{
		"lacks": strings.Replace(whole, "  yore_darwin_arm64\n", "  yore_darwin_arm65\n", 1),
		"twice": whole + sums["yore_linux_amd64"] + "  yore_linux_amd64\n",
	} {
		list = broken
		if err := run("v1.2.3"); err == nil {
			t.Errorf("%s: no failure", what)
		}
	}
	list = whole
	if err := run("1.2.3"); err == nil {
		t.Error("a version without v is taken")
	}
}

// TestImage: the image is made of what goreleaser and build.sh lay out, and is
// not run by root.
func TestImage(t *testing.T) {
	d := goreleaser(t).Dockers[0]
	if d.Dockerfile != "packaging/container/Dockerfile" || !slices.Equal(d.Platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("goreleaser builds the image from %+v", d)
	}
	text := file(t, "container/Dockerfile")
	for _, line := range []string{"FROM scratch", "COPY LICENSE THIRD_PARTY.md /usr/share/doc/yore/", "COPY $TARGETPLATFORM/yore /usr/bin/yore", "EXPOSE 7460", `ENTRYPOINT ["/usr/bin/yore"]`, `CMD ["serve"]`} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the Dockerfile does not say %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).MatchString(text) {
		t.Error("the Dockerfile names no user other than root by number")
	}
}
