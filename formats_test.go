package yore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

var updateFormats = flag.Bool("update-formats", false, "write the tables and the code of pages that are made from this package")

// The tables of README.md and README.zh.md are made from Formats, between two marks:
//
//	go test . -run TestFormatTable -update-formats
func TestFormatTable(t *testing.T) {
	const begin, end = "<!-- made from formats.go -->\n", "<!-- end -->\n"
	for name, want := range map[string]string{"README.md": formatTable(), "README.zh.md": formatTableInChinese(t)} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(page), begin)
		table, behind, also := strings.Cut(rest, end)
		if !ok || !also {
			t.Fatalf("%s does not have the marks of the table", name)
		}
		if *updateFormats {
			if err := os.WriteFile(name, []byte(before+begin+want+end+behind), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, table); diff != "" {
			t.Errorf("%s: run it with -update-formats (-want +got):\n%s", name, diff)
		}
	}
}

// Every agent that can be read has a row and a page, and no other has.
func TestEveryReaderHasAFormat(t *testing.T) {
	n := 0
	for _, r := range Readers() {
		if r.Agent() == "archive" {
			continue
		}
		n++
		f, ok := formatOf(r.Agent())
		if !ok {
			t.Errorf("%s has no format", r.Agent())
			continue
		}
		if _, err := os.Stat(filepath.Join("docs", "formats", f.Page)); err != nil {
			t.Errorf("%s: %v", r.Agent(), err)
		}
		for _, text := range []string{f.Product, f.Versions, f.Store, f.Reads, f.Lost} {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %q is no cell", r.Agent(), text)
			}
		}
	}
	if len(Formats()) != n {
		t.Errorf("%d formats for %d readers", len(Formats()), n)
	}
	if _, ok := formatOf(session.Agent("nobody")); ok {
		t.Error("nobody has a format")
	}
}

// formatTable is the table of README.md.
func formatTable() string {
	var b strings.Builder
	b.WriteString("| agent | `--agent` | seen | store | read beside what was said | not there |\n|---|---|---|---|---|---|\n")
	for _, f := range Formats() {
		cells := []string{fmt.Sprintf("[%s](docs/formats/%s)", f.Product, f.Page), "`" + string(f.Agent) + "`", f.Versions, f.Store, f.Reads, f.Lost}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// chinese are the cells of README.zh.md, by those of README.md.
var chinese = map[string]string{
	"0.1.0-rc.8, 0.1.1-rc.2; SQLite schema 17 by its description":                         "0.1.0-rc.8、0.1.1-rc.2；SQLite 表结构 17 版依据其说明",
	"JSON lines, zstd frames; SQLite":                                                     "JSON Lines、zstd 帧；SQLite",
	"forks, subagents, compactions, prunings, older shapes, interrupted turns":            "分叉、子智能体、上下文压缩、裁剪、旧格式、中断的回合",
	"nothing of a sound log":                                                              "日志完好则无遗漏",
	"2.1.332; 1.x and later by description":                                               "2.1.332；1.x 起的其余版本依据说明",
	"JSON lines":                                                                          "JSON Lines",
	"forks, subagents, rewinds, compactions, running sessions":                            "分叉、子智能体、回退、上下文压缩、正在运行的会话",
	"the surface while a summary is awaited":                                              "等待摘要期间的上下文",
	"0.8.0 to 0.171.0, and older layouts":                                                 "0.8.0 到 0.171.0，以及更早的目录布局",
	"JSON lines, zstd":                                                                    "JSON Lines、zstd",
	"threads over many files, forks, subagents, rollbacks, compactions, running sessions": "跨多个文件的线程、分叉、子智能体、回滚、上下文压缩、正在运行的会话",
	"compactions of releases up to 0.34":                                                  "0.34 及更早版本的上下文压缩",
	"format 1 to 3 (1.6.0)":                                                               "格式 1 到 3（1.6.0）",
	"branches, forks, compactions, context edits":                                         "分支、分叉、上下文压缩、对上下文的编辑",
	"which sessions are open":                                                             "哪些会话正开着",
	"0.61.0 and the older documents":                                                      "0.61.0 以及更早的文档格式",
	"JSON lines, JSON":                                                                    "JSON Lines、JSON",
	"resumptions, rewinds, compactions, subagents":                                        "恢复、回退、上下文压缩、子智能体",
	"which session calls; sessions that the agent deletes":                                "是哪个会话在调用；智能体自己删掉的会话",
	"0.24.4; the documents of 0.1.3":                                                      "0.24.4；0.1.3 的文档格式",
	"rewinds, branches, compactions, subagents":                                           "回退、分支、上下文压缩、子智能体",
	"which sessions are open; calls and results of 0.1":                                   "哪些会话正开着；0.1 版的工具调用和结果",
	"0.0.340; 1.0.40 to 1.0.102":                                                          "0.0.340；1.0.40 到 1.0.102",
	"subagents, compactions, truncations, forks, running sessions":                        "子智能体、上下文压缩、截断、分叉、正在运行的会话",
	"what a rewind cut off; workspaces of 0.0.3":                                          "被回退截掉的内容；0.0.3 版会话的工作目录",
	"2.1.0":                                "2.1.0",
	"subagents, compactions, undone turns": "子智能体、上下文压缩、撤销的回合",
	"2.1.0; the client in Python by its source":                             "2.1.0；Python 版客户端依据其源码",
	"which sessions are open; times of messages of the Python client":       "哪些会话正开着；Python 版客户端的消息时间",
	"which sessions are open; the Python client":                            "哪些会话正开着；Python 版客户端",
	"editor and agent, by description":                                      "编辑器和 agent，依据说明",
	"SQLite; JSON lines, JSON, text":                                        "SQLite；JSON Lines、JSON、纯文本",
	"subagents, one session in several forms":                               "子智能体、同一会话的多种存储形式",
	"compactions, models; results and exact times of transcripts alone":     "上下文压缩、模型名；若只有文字记录，则缺工具结果和准确时间",
	"0.1.174 to 1.18.33":                                                    "0.1.174 至 1.18.33",
	"SQLite; trees of JSON":                                                 "SQLite；JSON 文件树",
	"SQLite":                                                                "SQLite",
	"forks, subagents, compactions, prunings, reverts":                      "分叉、子智能体、上下文压缩、裁剪、还原",
	"messages that a revert deleted":                                        "被还原删掉的消息",
	"7.7.7":                                                                 "7.7.7",
	"as OpenCode":                                                           "同 OpenCode",
	"2026.9.6; the files before, by description":                            "2026.9.6；此前的文件格式依据说明",
	"SQLite, zstd; JSON lines":                                              "SQLite、zstd；JSON Lines",
	"branches, resets, compactions, forks, subagents, archived transcripts": "分支、重置、上下文压缩、分叉、子智能体、已归档的会话记录",
	"which sessions are open; subagents of the files":                       "哪些会话正开着；文件格式中的子智能体",
}

// formatTableInChinese is the table of README.zh.md.
func formatTableInChinese(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| 智能体 | `--agent` | 见过的版本 | 存储 | 除对话外还读取 | 读不到 |\n|---|---|---|---|---|---|\n")
	for _, f := range Formats() {
		cells := []string{fmt.Sprintf("[%s](docs/formats/%s)", f.Product, f.Page), "`" + string(f.Agent) + "`"}
		for _, cell := range []string{f.Versions, f.Store, f.Reads, f.Lost} {
			if chinese[cell] == "" {
				t.Errorf("README.zh.md has no words for %q, see chinese in this file", cell)
			}
			cells = append(cells, chinese[cell])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// formatOf finds an agent's format.
func formatOf(a session.Agent) (Format, bool) {
	all := Formats()
	i := slices.IndexFunc(all, func(f Format) bool { return f.Agent == a })
	if i < 0 {
		return Format{}, false
	}
	return all[i], true
}
