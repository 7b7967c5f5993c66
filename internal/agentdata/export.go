package agentdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// Export writes what the database has of an agent, a line of JSON for each row, in the order of Tables, and counts the lines. It needs a
// transaction that reads one snapshot.
func Export(tx *database.Tx, agentID string, to io.Writer) (lines int64, err error) {
	if err := caller.CheckName("agent_id", agentID); err != nil {
		return 0, err
	}
	for _, table := range Tables {
		fields := table.fields()
		columns := []string{"NULL", "NULL"}
		var intentID, channelID *string
		into := []any{&intentID, &channelID}
		if table.hides("intent_no") {
			columns[0] = "i.id"
		}
		if table.hides("channel_no") {
			columns[1] = "c.id"
		}
		for _, f := range fields {
			columns, into = append(columns, `x."`+f.name+`"`), append(into, f.cell.into())
		}
		var line bytes.Buffer
		err := table.each(tx, agentID, columns, into, func() error {
			line.Reset()
			if err := table.write(&line, intentID, channelID, fields); err != nil {
				return err
			}
			lines++
			_, err := to.Write(line.Bytes())
			return err
		})
		if err != nil {
			return lines, fmt.Errorf("exporting %s: %w", table.Name, err)
		}
	}
	return lines, nil
}

// each reads columns of the agent's rows of the table, one row after the other.
func (t Table) each(tx *database.Tx, agentID string, columns []string, into []any, do func() error) error {
	if t.Of == "" {
		return nil
	}
	condition, given := t.Of, arguments(t.Of, agentID)
	var of bool
	var list []byte
	if t.Listed != "" {
		columns = append([]string{"CASE WHEN " + t.Of + " THEN TRUE ELSE FALSE END", "x." + t.Listed}, columns...)
		condition, into = "1 = 1", append([]any{&of, &list}, into...)
	}
	return tx.Pipeline(database.Statement{
		SQL: "SELECT " + strings.Join(columns, ", ") + " FROM " + t.Name + " x" + t.joins() + " WHERE " + condition, Args: given,
		Scan: func(row database.Row) error {
			if err := row.Scan(into...); err != nil {
				return err
			}
			if t.Listed != "" && !of {
				var names []string
				if err := json.Unmarshal(list, &names); err != nil || !slices.Contains(names, agentID) {
					return err
				}
			}
			return do()
		},
	})
}

// joins adds the intent and the channel to which a row belongs.
func (t Table) joins() (sql string) {
	if t.hides("intent_no") {
		sql = " LEFT JOIN intents i ON i.intent_no = x.intent_no"
	}
	if t.hides("channel_no") {
		sql += " LEFT JOIN channels c ON c.intent_no = x.intent_no AND c.channel_no = x.channel_no"
	}
	return sql
}
