package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/dsh"
)

func dshEnv(url string) []string {
	return []string{"DEEPSEEK_API_KEY=dummy", "DEEPSEEK_BASE_URL=" + url + "/v1", "NO_COLOR=1"}
}

// dshPatch is the layer of the profile that runs one prompt; the client makes it
// with an empty list in it.
var dshPatch = filepath.Join(".dsh", "profiles", "headless", "cordis.patch.yml")

var dshClient = client{
	name:     "dsh",
	env:      dshEnv,
	unlisted: true,
	args:     " --workspace .",
	prepare:  dshPrepare,
	check: func(h *home) {
		text, err := os.ReadFile(filepath.Join(h.dir, dshPatch))
		if err != nil {
			h.t.Fatal(err)
		}
		h.want(dshPatch, string(text), "# my own\n", "'@deepseek-ai/dsh-mcp-client'", h.yore)
	},
	ask: dshAsk,
	run: dshRun,
	sessions: func(h *home) (ids []string) {
		logs, err := filepath.Glob(filepath.Join(h.dir, ".dsh", "sessions", "*", "*", "session.jsonl*"))
		if err != nil {
			h.t.Fatal(err)
		}
		for _, l := range logs {
			ids = append(ids, filepath.Base(filepath.Dir(l)))
		}
		return ids
	},
}

func dshPrepare(h *home) {
	h.zstd = true
	h.file(dshPatch, "# my own\n[]\n")
}

func dshAsk(h *home, dir, url, prompt string) {
	h.exec(dir, dshEnv(url), "dsh", "--profile", "headless", prompt)
}

// dshRun lets the client run commands; without a person it takes no session up
// again.
func dshRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "bash", Args: fmt.Sprintf(`{"command":%q,"description":"looks"}`, command)}
	})
	dshPrepare(h)
	dshAsk(h, h.here, url, counts)
	all := h.keeps(dsh.New())
	h.family(all, member{title: strings.Join(strings.Fields(summary), " ")}) // the model gives the title
	h.compare(all, model.Sent(), wire{})
}
