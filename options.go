package yore

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Source is a folder below which an agent keeps its sessions.
type Source struct {
	Agent session.Agent
	Root  string
}

// Search modes, orders and ways to match, named here for hosts.
const (
	SearchStartup = query.SearchStartup // indexing begins at Open, for Options.Workspaces
	SearchFirst   = query.SearchFirst   // indexing begins with the first search
	SearchNever   = query.SearchNever   // no search; reads and traces work
)

// Options are what a history is opened with. The zero value reads nothing and
// keeps its index below the user's cache folder.
type Options struct {
	Sources      []Source
	IndexDir     string           // "": DefaultIndexDir
	NetworkIndex bool             // IndexDir may be on a network file system, which is refused otherwise
	Search       query.SearchMode // "": SearchFirst
	Workspaces   []string         // indexed at Open in mode SearchStartup

	Match            query.Match   // "": auto
	Order            query.Order   // "": relevance
	Inherited        bool          // show a fork's inherited hits beside their origin's
	SnippetPoints    int           // code points; 0: 240
	ReadWindow       int           // neighbours a side that a read may return; 0: 50, negative: none
	MaxSearchResults int           // hits of one tool call; 0: 100
	SearchBytes      int           // of the text of a search by a tool; 0: 3,900, negative: no limit
	SearchTimeout    time.Duration // deadline of a search by a tool; 0: 30 s

	Policy       authz.Policy // how far a View reaches; authz.Exact or authz.Repository
	WorktreeFile string       // where the policy Repository records what it has proved; "": DefaultWorktreeFile

	ForgetFile string // the list of sessions that their owner wants forgotten; "": DefaultForgetFile

	Logger *slog.Logger // nil discards
}

func (o Options) resolve() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Search == "" {
		o.Search = SearchFirst
	}
	if o.IndexDir == "" {
		dir, err := DefaultIndexDir()
		if err != nil {
			return o, err
		}
		o.IndexDir = dir
	}
	if o.Policy != authz.Exact && o.Policy != authz.Repository {
		return o, fault.New(fault.InvalidConfig, "the policy of a history is exact or repository; OwnerView gives the owner's view")
	}
	if o.Policy == authz.Repository && o.WorktreeFile == "" {
		file, err := DefaultWorktreeFile()
		if err != nil {
			o.Logger.Warn("what is proved of worktrees is not recorded", "error", err)
		}
		o.WorktreeFile = file
	}
	if o.ForgetFile == "" {
		file, err := DefaultForgetFile()
		if err != nil {
			o.Logger.Warn("no session can be forgotten for good", "error", err)
		}
		o.ForgetFile = file
	}
	for _, s := range o.Sources {
		if s.Root == "" {
			return o, fault.New(fault.InvalidConfig, "a source of agent %q has no root", s.Agent)
		}
	}
	return o, nil
}

// errReadOnly is what a read-only file system answers.
const errReadOnly = syscall.EROFS
