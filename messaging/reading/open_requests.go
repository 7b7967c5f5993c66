package reading

import "openintent/internal/database"

// maxOpenRequests bounds how many open requests one call finds. The oldest come first.
const maxOpenRequests = 10_000

// OpenRequestsTo returns the places of the open requests in some intents that are addressed to one of the targets, which
// are agents or role:<role_id>. It does not decide whether anybody may see them: that is decided when they are read.
func OpenRequestsTo(tx *database.Tx, targets []string, intentNos []int64) (map[int64][]int64, error) {
	places := make(map[int64][]int64)
	among, names := tx.In("target", targets)
	in, numbers := tx.In("intent_no", intentNos)
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT intent_no, position FROM open_requests WHERE " + among + " AND " + in +
			" ORDER BY created_at, intent_no, position LIMIT ?",
		Args: []any{names, numbers, maxOpenRequests},
		Scan: func(row database.Row) error {
			var intentNo, position int64
			err := row.Scan(&intentNo, &position)
			places[intentNo] = append(places[intentNo], position)
			return err
		},
	})
	return places, err
}
