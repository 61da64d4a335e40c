package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/postgres"
)

// serveOptions are what `yore serve` is told.
type serveOptions struct {
	listen    string
	cert, key string
	proxy     bool
	hosts     []string
	perToken  int
	pushes    int
	deadline  time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a team's history, out of PostgreSQL",
		Long: `Serve answers a team's agents and people about the sessions that its members have
sent (yore push): over the Model Context Protocol at /mcp, and as JSON below /v1
for the command line. A request is somebody's because of its token; mint one for
each person with ` + "`yore serve token mint`" + `.

The database is PostgreSQL 15 or newer; ` + "`yore serve migrate`" + ` makes its tables, and
does so again after an update. Beyond this machine the server speaks TLS, or
stands behind a proxy that does and says so by --behind-proxy. It answers to the
names of --host alone.

SIGTERM ends it once what is under way has been answered. /healthz says that it
lives, /readyz that it can work, /metrics counts, for a token with that right.`,
		Example: `  yore serve migrate --database postgres://yore@db/yore
  yore serve token mint --database postgres://yore@db/yore --tenant acme --person ada --workspace app --right read,push
  yore serve --database postgres://yore@db/yore --listen :8443 --host yore.example.com --tls-cert cert.pem --tls-key key.pem`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), cmd, o) },
	}
	databaseFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7460", "`ADDRESS` to listen at")
	f.StringVar(&o.cert, "tls-cert", "", "`FILE` of the certificate, PEM")
	f.StringVar(&o.key, "tls-key", "", "`FILE` of its key, PEM")
	f.BoolVar(&o.proxy, "behind-proxy", false, "a proxy in front speaks TLS, so this server need not")
	f.StringArrayVar(&o.hosts, "host", nil, "a `NAME` that the server goes by, with its port unless it is 443; repeatable (default: this machine's loopback)")
	f.IntVar(&o.perToken, "per-token", 8, "`N` requests of one token at a time")
	f.IntVar(&o.pushes, "pushes", 4, "`N` stretches that are taken in at a time")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second, "the longest that one request may take, a `DURATION`")
	cmd.AddCommand(a.migrateCommand(), a.tokenCommand(), a.eraseCommand(), a.auditCommand())
	return cmd
}

// ofServer reports whether a command is one of the team's server.
func ofServer(cmd *cobra.Command) bool {
	return cmd.Flags().Lookup("database") != nil
}

// databaseFlag says where the database is. It may hold a password, which belongs
// into YORE_DATABASE and not on a command line that everybody can list.
func databaseFlag(cmd *cobra.Command) {
	cmd.Flags().String("database", "", "the `DSN` of PostgreSQL, a URL or key=value pairs (default: YORE_DATABASE, which others cannot list)")
}

// database opens the database.
func (a *app) database(ctx context.Context, cmd *cobra.Command) (*postgres.Database, error) {
	dsn, err := cmd.Flags().GetString("database")
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		dsn = a.getenv(envName("database"))
	}
	if dsn == "" {
		return nil, fault.New(fault.InvalidConfig, "which database? give --database DSN, or set YORE_DATABASE")
	}
	return postgres.Open(ctx, postgres.Options{DSN: dsn, Logger: a.logger})
}

func (o *serveOptions) check() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return fault.New(fault.InvalidArgs, "--listen is %q: want ADDRESS:PORT, or :PORT for every address", o.listen)
	}
	ip := net.ParseIP(host)
	here := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case (o.cert == "") != (o.key == ""):
		return fault.New(fault.InvalidArgs, "--tls-cert and --tls-key come together")
	case o.cert != "" && o.proxy:
		return fault.New(fault.InvalidArgs, "--behind-proxy is for a server that does not speak TLS itself")
	case !here && o.cert == "" && !o.proxy:
		return fault.New(fault.InvalidArgs, "%s can be reached from other machines and tokens would go over the network in the clear: give --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS", o.listen)
	case (!here || o.proxy) && len(o.hosts) == 0:
		return fault.New(fault.InvalidArgs, "give --host NAME, the name by which clients reach the server")
	case o.perToken < 1 || o.pushes < 1 || o.deadline < time.Second:
		return fault.New(fault.InvalidArgs, "--per-token and --pushes are at least 1, --deadline at least 1s")
	}
	return nil
}

func (a *app) serve(ctx context.Context, cmd *cobra.Command, o serveOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	db, err := a.database(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Check(ctx); err != nil {
		return err
	}
	for i := range o.hosts {
		o.hosts[i] = strings.ToLower(o.hosts[i])
	}
	hosts := o.hosts
	if hosts != nil {
		// A probe of the same machine asks by number.
		if _, port, err := net.SplitHostPort(o.listen); err == nil {
			hosts = append(slices.Clone(hosts), "127.0.0.1:"+port, "localhost:"+port)
		}
	}
	s, err := serve.New(serve.Options{
		Store: serve.Database{DB: db}, Tokens: serve.Database{DB: db}, Audit: serve.Database{DB: db}, Ready: db.Ping,
		Pool:  func() (int, int, int) { p := db.Pool(); return p.Open, p.Busy, p.Most },
		Hosts: hosts, Version: version(), PerToken: o.perToken, Pushes: o.pushes, Deadline: o.deadline, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fault.New(fault.InvalidConfig, "cannot listen at %s: %v", o.listen, err)
	}
	scheme := "http"
	if o.cert != "" {
		scheme = "https"
	}
	a.note("Serving at %s://%s; SIGTERM ends it.", scheme, l.Addr())
	err = s.Run(ctx, l, o.cert, o.key)
	if err == nil {
		return nil
	}
	return fmt.Errorf("the server ended: %w", err)
}

func (a *app) migrateCommand() *cobra.Command {
	var partitions int
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make or update the tables of a team's database",
		Long: `Migrate brings the database's tables to what this program needs, step by step, while
servers of the version before go on. A schema named "yore" that it did not make,
and one of a newer program, is left alone.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := a.database(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			from, to, err := db.Migrate(cmd.Context(), postgres.Setup{Partitions: partitions})
			if err != nil {
				return err
			}
			if from == to {
				return a.emit(fmt.Sprintf("The database is at version %d already.\n", to))
			}
			return a.emit(fmt.Sprintf("The database was at version %d and is at version %d now.\n", from, to))
		},
	}
	databaseFlag(cmd)
	cmd.Flags().IntVar(&partitions, "partitions", 0, "`N` parts of the large tables, 1 where Citus distributes them; counts the first time (default 64)")
	return cmd
}
