package corpus

import (
	"strconv"
	"strings"
)

// Claude returns the transcript of one Claude Code session of about size bytes.
// The shares of its kinds of line are those of genuine transcripts: user lines
// three fifths of the bytes (two fifths of all are copies of results that the
// model never sees), progress a fifth, the model's lines most of the rest; about
// a sixth of all is searchable text. Same seed and size, same bytes.
func Claude(seed uint64, size int) Transcript {
	c := &claude{transcriber: newTranscriber(seed, 2000), cwd: "/home/dev/work/project-00"}
	c.session = uuid(c.r)
	for len(c.out) < size {
		c.turn()
	}
	return Transcript{ID: c.session, Cwd: c.cwd, Path: "-home-dev-work-project-00/" + c.session + ".jsonl", Text: c.out}
}

type claude struct {
	*transcriber
	session, cwd string
	last         string // uuid of the latest line of the tree
	response     string
	request      string
}

// head begins a line of the tree and returns its uuid.
func (c *claude) head() string {
	id := uuid(c.r)
	parent := "null"
	if c.last != "" {
		parent = strconv.Quote(c.last)
	}
	c.add(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.29","gitBranch":"main","slug":"quiet-mossy-lantern",`,
		parent, c.cwd, c.session)
	c.last = id
	return id
}

func (c *claude) tail(id string) { c.add(`,"uuid":%q,"timestamp":%q}`+"\n", id, c.now()) }

// turn is a prompt and the model's work on it.
func (c *claude) turn() {
	c.snapshot()
	id := c.head()
	c.add(`"type":"user","message":{"role":"user","content":%s},"thinkingMetadata":{"maxThinkingTokens":31999},"todos":[],"permissionMode":"default"`, q(c.userText()))
	c.tail(id)
	for range 2 + c.r.IntN(8) {
		c.step()
	}
	c.response, c.request = "msg_"+c.base64(22), "req_"+c.base64(22)
	c.model(`{"type":"text","text":`+q(c.assistantText())+`}`, `"end_turn"`)
	id = c.head()
	c.add(`"type":"system","subtype":"turn_duration","durationMs":%d,"isMeta":false`, c.r.IntN(900000))
	c.tail(id)
}

// model is one line of a response, which holds one block.
func (c *claude) model(block, stop string) {
	id := c.head()
	c.add(`"message":{"model":"claude-opus-4-5","id":%q,"type":"message","role":"assistant","content":[%s],"stop_reason":%s,"stop_sequence":null,`, c.response, block, stop)
	c.add(`"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,"service_tier":"standard"}},"requestId":%q,"type":"assistant"`,
		c.r.IntN(9), c.r.IntN(9000), c.r.IntN(190000), c.r.IntN(9000), c.r.IntN(900), c.request)
	c.tail(id)
}

// step is a response with one call, what the program notes meanwhile, and the
// call's result.
func (c *claude) step() {
	c.response, c.request = "msg_"+c.base64(22), "req_"+c.base64(22)
	if c.r.IntN(2) == 0 {
		c.model(`{"type":"thinking","thinking":`+q(c.reasoning())+`,"signature":"`+c.base64(300+c.r.IntN(1500))+`"}`, "null")
	}
	if c.r.IntN(3) == 0 {
		c.model(`{"type":"text","text":`+q(c.assistantText())+`}`, "null")
	}
	call := "toolu_" + c.base64(22)
	use := func(name, input string) {
		c.model(`{"type":"tool_use","id":"`+call+`","name":"`+name+`","input":`+input+`}`, "null")
		c.progress(call, `{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:`+name+`","command":"callback"}`)
	}
	switch x := c.r.IntN(20); {
	case x < 5:
		c.edit(call, use)
	case x < 11:
		c.read(call, use)
	case x < 12:
		c.picture(call, use)
	case x < 13:
		c.delegate(call, use)
	default:
		c.shell(call, use)
	}
}

// result is a user line with a call's result for the model, and for the user
// interface.
func (c *claude) result(call, content, shown string) {
	from := c.last
	id := c.head()
	c.add(`"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s}]}`, call, content)
	c.shownTail(id, shown, from)
}

func (c *claude) shownTail(id, shown, from string) {
	c.add(`,"uuid":%q,"timestamp":%q,"toolUseResult":%s,"sourceToolAssistantUUID":%q}`+"\n", id, c.now(), shown, from)
}

// edit changes a file: the whole of it is written down again.
func (c *claude) edit(call string, use func(name, input string)) {
	path, before, after := q(c.file()), c.code(200), c.code(220)
	use("Edit", `{"replace_all":false,"file_path":`+path+`,"old_string":`+q(before)+`,"new_string":`+q(after)+`}`)
	original := c.code(c.logn(14000, 0.7, 500, 150_000))
	var patch []string
	for line := range strings.SplitSeq(before, "\n") {
		patch = append(patch, q("-"+line))
	}
	for line := range strings.SplitSeq(after, "\n") {
		patch = append(patch, q("+"+line))
	}
	c.result(call, q("The file has been updated. Here's the result of running `cat -n` on a snippet:\n"+after),
		`{"filePath":`+path+`,"oldString":`+q(before)+`,"newString":`+q(after)+`,"originalFile":`+q(original)+
			`,"structuredPatch":[{"oldStart":12,"oldLines":8,"newStart":12,"newLines":9,"lines":[`+strings.Join(patch, ",")+`]}],"userModified":false,"replaceAll":false}`)
}

// read shows a file: numbered for the model, plain for the user.
func (c *claude) read(call string, use func(name, input string)) {
	path := q(c.file())
	use("Read", `{"file_path":`+path+`}`)
	text := c.code(c.logn(1600, 0.9, 60, 60_000))
	var numbered strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		numbered.WriteString(strings.Repeat(" ", 5) + strconv.Itoa(n) + "→" + line)
	}
	c.result(call, q(numbered.String()), `{"type":"text","file":{"filePath":`+path+`,"content":`+q(text)+`,"numLines":`+strconv.Itoa(n)+`,"startLine":1,"totalLines":`+strconv.Itoa(n)+`}}`)
}

// picture shows an image, twice.
func (c *claude) picture(call string, use func(name, input string)) {
	use("Read", `{"file_path":`+q(c.file()+".png")+`}`)
	data := c.base64(c.logn(20000, 0.8, 2000, 400_000))
	c.result(call, `[{"type":"image","source":{"type":"base64","data":"`+data+`","media_type":"image/png"}}]`,
		`{"type":"image","file":{"base64":"`+data+`","type":"image/png","originalSize":`+c.digits(5)+`}}`)
}

// shell runs a command; its output comes in pieces, each with all before it.
func (c *claude) shell(call string, use func(name, input string)) {
	arguments := ""
	for arguments == "" {
		if name, a := c.call(); name == "bash" {
			arguments = a
		}
	}
	use("Bash", strings.TrimSuffix(arguments, "}")+`,"description":`+q(c.title())+`}`)
	out := c.resultText("bash")
	out = out[:min(len(out), 30_000)]
	out = strings.ToValidUTF8(out, "")
	for n := range c.r.IntN(4) {
		part := strings.ToValidUTF8(out[:len(out)*(n+1)/5], "")
		c.progress(call, `{"type":"bash_progress","output":`+q(part[len(part)/2:])+`,"fullOutput":`+q(part)+`,"elapsedTimeSeconds":`+strconv.Itoa(n+2)+`,"totalLines":`+strconv.Itoa(strings.Count(part, "\n"))+`}`)
	}
	c.result(call, q(out), `{"stdout":`+q(out)+`,"stderr":"","interrupted":false,"isImage":false}`)
}

// delegate runs a subagent, whose messages are noted with its task on each.
func (c *claude) delegate(call string, use func(name, input string)) {
	task := c.summary()
	use("Task", `{"description":`+q(c.title())+`,"prompt":`+q(task)+`,"subagent_type":"general-purpose"}`)
	agent := c.digits(7)
	for range 4 + c.r.IntN(8) {
		text := c.resultText("read")
		text = strings.ToValidUTF8(text[:min(len(text), 6000)], "")
		c.progress(call, `{"type":"agent_progress","prompt":`+q(task)+`,"agentId":"`+agent+`","message":{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_`+
			c.base64(22)+`","type":"tool_result","content":`+q(text)+`}]},"uuid":"`+uuid(c.r)+`","timestamp":"`+c.now()+`"},"normalizedMessages":[]}`)
	}
	answer := c.assistantText()
	c.result(call, `[{"type":"text","text":`+q(answer)+`}]`, `{"status":"completed","prompt":`+q(task)+`,"agentId":"`+agent+`","content":[{"type":"text","text":`+q(answer)+
		`}],"totalDurationMs":`+c.digits(5)+`,"totalTokens":`+c.digits(5)+`,"totalToolUseCount":9,"usage":{"input_tokens":4,"output_tokens":`+c.digits(3)+`}}`)
}

// progress is a line about a call that is running.
func (c *claude) progress(call, data string) {
	id := c.head()
	c.add(`"type":"progress","data":%s,"toolUseID":"bash-progress-%d","parentToolUseID":%q`, data, c.r.IntN(100), call)
	c.tail(id)
}

// snapshot says where copies of changed files lie.
func (c *claude) snapshot() {
	c.add(`{"type":"file-history-snapshot","messageId":%q,"snapshot":{"messageId":%q,"trackedFileBackups":{`, uuid(c.r), uuid(c.r))
	for i := range c.r.IntN(12) {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.add(`%s:{"backupFileName":"%x@v2","version":2,"backupTime":%q}`, q(c.file()), c.r.Uint64(), c.now())
	}
	c.add(`},"timestamp":%q},"isSnapshotUpdate":false}`+"\n", c.now())
}
