package cli

import (
	"encoding/json"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/session"
)

// forgettableJSON is a session as `yore forget` names it. It holds no session text.
type forgettableJSON struct {
	Agent     string     `json:"agent"`
	ID        session.ID `json:"session"`
	Workspace string     `json:"workspace,omitempty"`
	Paths     []string   `json:"paths"`
	With      bool       `json:"with_its_session,omitempty"`
	Since     string     `json:"since,omitempty"`
}

func forgettables(all []yore.Forgettable) []forgettableJSON {
	out := []forgettableJSON{}
	for _, s := range all {
		out = append(out, forgettableJSON{string(s.Header.Agent), s.Header.ID, s.Header.Cwd, append([]string{}, s.Paths...), s.With, s.Since})
	}
	return out
}

// json is what was forgotten, as one object:
//
//	{"forgotten":[{"agent","session","workspace"?,"paths":[…],"with_its_session"?},…],
//	 "copies_deleted":[path,…],"logs_left":[path,…],"results_deleted",
//	 "forks_left":[{"agent","session","workspace"?},…],"done":bool}
func (g *going) json(done bool, swept int) []byte {
	type fork struct {
		Agent     session.Agent `json:"agent"`
		ID        session.ID    `json:"session"`
		Workspace string        `json:"workspace,omitempty"`
	}
	copies, forks := []string{}, []fork{}
	for _, c := range g.copies {
		copies = append(copies, c.Path)
	}
	for _, h := range g.Forks {
		forks = append(forks, fork{h.Agent, h.ID, h.Cwd})
	}
	line, _ := json.Marshal(struct {
		Forgotten []forgettableJSON `json:"forgotten"`
		Copies    []string          `json:"copies_deleted"`
		Logs      []string          `json:"logs_left"`
		Results   int               `json:"results_deleted"`
		Forks     []fork            `json:"forks_left"`
		Done      bool              `json:"done"`
	}{forgettables(g.Sessions), copies, append([]string{}, g.logs()...), swept, forks, done}) // strings, numbers and booleans only
	return line
}

func forgottenJSON(known []yore.Forgettable, others int) []byte {
	line, _ := json.Marshal(struct {
		Forgotten []forgettableJSON `json:"forgotten"`
		Others    int               `json:"without_logs"`
	}{forgettables(known), others})
	return line
}

func keysJSON(keys []session.Key) []byte {
	names := []string{}
	for _, key := range keys {
		names = append(names, key.String())
	}
	line, _ := json.Marshal(struct {
		Remembered []string `json:"remembered"`
	}{names})
	return line
}
