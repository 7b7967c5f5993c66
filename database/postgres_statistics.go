package database

const (
	// countedFrom is how many rows a table has before it is worth counting, and countedAgain by what factor it grows until it
	// is counted again.
	countedFrom  = 500
	countedAgain = 3
)

// grown goes by what the server knows anyway of each table's inserted and deleted rows. A table that was never counted has
// reltuples of -1.
func (p *postgresServer) grown(tables *[]string) Statement {
	return Statement{
		SQL: `SELECT quote_ident(relname) FROM pg_class
			WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema())
			AND pg_stat_get_live_tuples(oid) >= greatest(?::double precision, ?::double precision * reltuples)`,
		Args: []any{float64(countedFrom), float64(countedAgain)},
		Scan: func(row Row) error {
			var table string
			err := row.Scan(&table)
			*tables = append(*tables, table)
			return err
		},
	}
}

// count leaves out a table that somebody else is counting.
func (p *postgresServer) count(table string) string { return "ANALYZE (SKIP_LOCKED) " + table }
