package toolset_test

import (
	"strings"

	"github.com/yorehq/yore/session"
)

// better is the right answer to a recorded case that has another one.
type better struct {
	why    string
	answer facts
}

// betterAnswers are worked out from the corpus by hand: the cases that say
// themselves that the recorded answer is weak, and the twelve in which our
// tokens reach further on purpose.
func betterAnswers() map[string]better {
	const (
		one     = "a log that cannot be read leaves its neighbours searchable"
		onePath = "a misplaced or foreign file leaves its neighbours alone"
		folding = "the query's words are in the text"
	)
	all := map[string]better{
		"sessions.refused/conflicting headers": {"only the session whose headers differ is left out", facts{Kind: "sessions", Hits: []hitFacts{
			walnut("alpha-fork-grandchild", "Draft the migration note", "id:alpha-fork-child", "2026-03-02T14:00:00.000Z",
				eventFacts{9, "user/message", "current", "2026-03-02T14:00:03.000Z", "Translate the walnut note."}),
			walnut("alpha-under-beta", "Draft the migration note", "outside", "2026-03-02T15:00:00.000Z",
				eventFacts{9, "user/message", "current", "2026-03-02T15:00:03.000Z", "Bring the walnut copy back."}),
			walnut("alpha-fork-child", "Shortened walnut note", "id:alpha-fork-parent", "2026-03-02T13:00:00.000Z",
				eventFacts{11, "assistant/message", "current", "2026-03-02T13:00:05.000Z", "The walnut schema is now version four."}),
		}}},
		"sessions.refused/date out of range": {"a time that no calendar prints is printed as a number", facts{Kind: "sessions", Hits: []hitFacts{
			walnut("far-session", "untitled", "root", "8640000000000001 ms",
				eventFacts{1, "user/message", "current", "8640000000000001 ms", "ultramarine far away"}),
		}}},
		"lineage/date out of range": {"a time that no calendar prints is printed as a number", facts{Kind: "lineage",
			Target: &targetFacts{sessionFacts: stored("far-session", "untitled", "8640000000000001 ms")}}},
		"events.current/step at seq 0": {"nothing lies before the step: the answer is empty", facts{Kind: "events",
			Session: &sessionFacts{ID: "caller-first", Title: "untitled"}}},
		"events.refused/sound session beside a damaged one": {one, turnips()},
		"events.refused/listing fails":                      {onePath, turnips()},
		"lineage/children order on equal times":             {"the ids' bytes decide, the same order as everywhere", fan()},
		"read/listing fails": {onePath, facts{Kind: "read", Session: &sessionFacts{ID: "sound", Title: "Sound"}, Seq: 1, Event: map[string]any{
			"type": "user/message", "seq": 1.0, "time": 1772442002000.0, "surfaceOp": "append",
			"data": map[string]any{"id": "u-1", "role": "user", "source": map[string]any{"kind": "user"},
				"content": []any{map[string]any{"type": "text", "text": "A sound session about turnips."}}},
		}}},

		"sessions.hit/non-ascii workspace": {"a word inside an unspaced sentence is found", facts{Kind: "sessions", Hits: []hitFacts{
			walnut("hanzi-two", "untitled", "root", "2026-03-02T20:00:00.002Z",
				eventFacts{1, "user/message", "current", "2026-03-02T20:00:02.002Z", "查找 构建脚本 的错误"}),
			walnut("hanzi-one", "构建脚本", "root", "2026-03-02T20:00:00.001Z",
				eventFacts{1, "user/message", "current", "2026-03-02T20:00:02.001Z", "这个项目的构建脚本在哪里？"}),
		}}},
		"events.script/spaced Chinese words": {"spaces between Han characters mean nothing",
			script("🚀 脚本 שלום", at(2, "01:00:03", "数据库 连接 超时"), at(1, "01:00:02", "请修复数据库连接超时的问题"))},
		"events.script/spaced query against an unspaced sentence": {"spaces between Han characters mean nothing",
			script("🚀 脚本 שלום", at(1, "01:00:02", "请修复数据库连接超时的问题"))},
		"events.script/Japanese katakana word": {"a word inside an unspaced sentence is found",
			script("🚀 脚本 שלום", at(3, "01:00:04", "データベース接続がタイムアウトした"))},
		"events.script/fullwidth": {folding + " in fullwidth letters",
			script("🚀 脚本 שלום", at(11, "01:00:12", "straße STRASSE Ｆｕｌｌｗｉｄｔｈ \ufb01ne ligature"))},
		"events.script/Thai": {"a word inside an unspaced sentence is found",
			script("🚀 脚本 שלום", at(12, "01:00:13", "ภาษาไทย हिन्दी भाषा"))},
		"events.script-more/Vietnamese precomposed": {folding + ", composed and decomposed",
			script("untitled", at(1, "01:30:02", vietnamese), at(2, "01:30:03", decomposed))},
		"events.script-more/one mark of two": {"a Latin letter is found with any of its marks",
			script("untitled", at(1, "01:30:02", vietnamese), at(2, "01:30:03", decomposed))},
		"events.script-more/fullwidth digits as ascii": {folding + " in fullwidth digits",
			script("untitled", at(5, "01:30:06", "１２３ and \u0661\u0662\u0663 and \u0967\u0968\u0969"))},
		"events.script-more/Arabic without vowel marks": {"vowel marks are optional in Arabic",
			script("untitled", at(7, "01:30:08", pointed))},
		"events.script-more/Hebrew without points": {"points are optional in Hebrew",
			script("untitled", at(7, "01:30:08", pointed))},
		"events.script-more/Greek tonos": {"a Greek letter is found without its accent",
			script("untitled", at(11, "01:30:12", "\u03ac\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2 \u1f04\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2 \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2"))},
	}
	for _, root := range []string{"bad-unknown", "bad-surface", "bad-shape", "bad-identity", "bad-duplicate", "bad-mixed", "bad-flat", "bad-frame", "bad-frame-lines", "bad-magic"} {
		all["sessions.refused/"+root] = better{one, facts{Kind: "sessions", Hits: []hitFacts{
			walnut("sound", "Sound", "root", "2026-03-02T09:00:00.000Z", turnips().Hits[0].eventFacts)}}}
	}
	for _, root := range []string{"bad-identity", "bad-duplicate", "bad-mixed", "bad-flat", "bad-magic"} {
		all["lineage/"+root] = better{onePath, facts{Kind: "lineage",
			Target: &targetFacts{sessionFacts: stored("sound", "Sound", "2026-03-02T09:00:00.000Z")}}}
	}
	return all
}

const (
	vietnamese = "K\u1ebft qu\u1ea3 ki\u1ec3m th\u1eed \u0111\u1eadu"
	decomposed = "Ke\u0302\u0301t qua\u0309 kie\u0302\u0309m thu\u031b\u0309"
	pointed    = "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd"
)

func stored(id, title, created string) sessionFacts {
	return sessionFacts{ID: session.ID(id), Title: title, Created: created, Availability: []string{"persisted"}}
}

// walnut is a stored session that was found by its best event.
func walnut(id, title, parent, created string, best eventFacts) hitFacts {
	return hitFacts{sessionFacts: stored(id, title, created), Parent: parent, Best: &best}
}

// turnips is the sound session of the broken roots: the shorter text comes first.
func turnips() facts {
	return facts{Kind: "events", Session: &sessionFacts{ID: "sound", Title: "Sound"}, Hits: []hitFacts{
		{eventFacts: eventFacts{4, "assistant/message", "current", "2026-03-02T09:00:05.000Z", "Turnips are fine."}},
		{eventFacts: eventFacts{1, "user/message", "current", "2026-03-02T09:00:02.000Z", "A sound session about turnips."}},
	}}
}

func at(seq int64, clock, text string) hitFacts {
	return hitFacts{eventFacts: eventFacts{seq, "user/message", "current", "2026-03-03T" + clock + ".000Z", text}}
}

// script is an answer about one of the two sessions of many scripts.
func script(title string, hits ...hitFacts) facts {
	id := "alpha-scripts"
	if title == "untitled" {
		id = "alpha-scripts-more"
	}
	return facts{Kind: "events", Session: &sessionFacts{ID: session.ID(id), Title: title}, Hits: hits}
}

func fan() facts {
	f := facts{Kind: "lineage", Target: &targetFacts{sessionFacts: stored("fan-parent", "Fan", "2026-03-03T06:00:00.000Z")}}
	for _, id := range []string{"fan-early", "Fan-a", "fan-10", "fan-9", "fan-B", "fan-a", "fan-b", "fan-é", "fan_c", "fan-late"} {
		ms := "005"
		switch id {
		case "fan-early":
			ms = "001"
		case "fan-late":
			ms = "009"
		}
		f.Descendants = append(f.Descendants, kinFacts{sessionFacts: stored(id, "untitled", "2026-03-03T06:00:00."+ms+"Z")})
	}
	return f
}

// sentences takes the sentences out of the closing results that a reader adds
// to an interrupted log: they are each program's own. Error name and code, ids,
// seqs, times and citations stay.
func sentences(fs ...*facts) {
	for _, f := range fs {
		for i := range f.Hits {
			f.Hits[i].Snippet = closing(f.Hits[i].Snippet, " ")
		}
		for _, list := range [][]neighbourFacts{f.Before, f.After} {
			for _, n := range list {
				if n.Text != nil {
					*n.Text = closing(*n.Text, "\n")
				}
			}
		}
		data := field(f.Event, "data")
		if code, _ := field(field(data, "error"), "code").(string); code != "TOOL_OUTCOME_UNKNOWN" && code != "TOOL_NOT_STARTED" {
			continue
		}
		for _, block := range items(field(field(data, "message"), "content")) {
			for _, inner := range items(field(block, "content")) {
				if text, ok := inner.(map[string]any); ok {
					text["text"] = "(a sentence)"
				}
			}
		}
	}
}

// closing keeps what follows the sentence of a closing result.
func closing(text, separator string) string {
	for _, end := range []string{"ToolOutcomeUnknownError" + separator + "TOOL_OUTCOME_UNKNOWN", "ToolNotStartedError" + separator + "TOOL_NOT_STARTED"} {
		if strings.HasSuffix(text, separator+end) {
			return end
		}
	}
	return text
}

func field(v any, name string) any {
	object, _ := v.(map[string]any)
	return object[name]
}

func items(v any) []any {
	list, _ := v.([]any)
	return list
}
