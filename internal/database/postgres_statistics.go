package database

const (
	// countedFrom is how many rows a table must have before it is analyzed; countedAgain is the factor by which it must grow
	// before it is analyzed again.
	countedFrom  = 500
	countedAgain = 3
)

// grown uses the numbers of inserted and deleted rows that the server keeps anyway. The reltuples of a table that was never
// analyzed are -1.
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

// count skips a table that another session is analyzing.
func (p *postgresServer) count(table string) string { return "ANALYZE (SKIP_LOCKED) " + table }
