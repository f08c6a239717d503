package store

// Owner is who started the run, for people and for the question whose run it is.
type Owner struct {
	User string
	Host string
	PID  int
	Argv []string
	// Batch names the batch job that the scheduler runs in, as in SLURM_JOB_ID=8812.
	Batch  string
	Labels map[string]string
	// Source is where the spec came from: a path, "-" for standard input, "" for flags.
	Source string
}

var ownerFields = []field[Owner]{
	text("user", func(o *Owner) *string { return &o.User }),
	text("host", func(o *Owner) *string { return &o.Host }),
	number("pid", func(o *Owner) *int { return &o.PID }, 0),
	structured("argv", func(o *Owner) *[]string { return &o.Argv }, func(v []string) int { return len(v) }),
	text("batch", func(o *Owner) *string { return &o.Batch }),
	structured("labels", func(o *Owner) *map[string]string { return &o.Labels }, func(v map[string]string) int { return len(v) }),
	text("source", func(o *Owner) *string { return &o.Source }),
}
