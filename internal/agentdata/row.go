package agentdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"openintent/internal/database"
)

// field is a column of an exported row.
type field struct {
	name string
	cell cell
}

// cell is a value of a row. It is read anew for each row, and written as JSON.
type cell interface {
	// into returns what the database reads the value into.
	into() any
	// write appends the value as JSON: null for NULL.
	write(line *bytes.Buffer) error
}

// forms are the forms in which a column's value is shown: text, numbers and truth values as they are, a time in microseconds as RFC 3339,
// and stored JSON in place.
var forms = map[string]func() cell{
	"":       func() cell { return &value[string]{show: showJSON} },
	"number": func() cell { return &value[int64]{show: showJSON} },
	"real":   func() cell { return &value[float64]{show: showJSON} },
	"bool":   func() cell { return &value[bool]{show: showJSON} },
	"time":   func() cell { return &value[int64]{show: showTime} },
	"json":   func() cell { return &value[[]byte]{show: showStored} },
}

// value is a cell of a type that the database reads.
type value[T any] struct {
	read *T
	show func(line *bytes.Buffer, read any) error
}

func (v *value[T]) into() any { return &v.read }

func (v *value[T]) write(line *bytes.Buffer) error {
	if v.read == nil {
		line.WriteString("null")
		return nil
	}
	return v.show(line, *v.read)
}

func showJSON(line *bytes.Buffer, read any) error {
	text, err := json.Marshal(read)
	line.Write(text)
	return err
}

func showTime(line *bytes.Buffer, read any) error {
	micros, _ := read.(int64)
	line.WriteString(strconv.Quote(database.Time(micros).UTC().Format(time.RFC3339Nano)))
	return nil
}

func showStored(line *bytes.Buffer, read any) error {
	text, _ := read.([]byte)
	return json.Compact(line, text)
}

// fields returns the columns that an export shows.
func (t Table) fields() []field {
	shown := strings.Fields(t.Columns)
	found := make([]field, len(shown))
	for i, column := range shown {
		name, form, _ := strings.Cut(column, ":")
		found[i] = field{name, forms[form]()}
	}
	return found
}

// write appends a row as a line of JSON: the table, the ids of the intent and the channel to which it belongs, and the columns.
func (t Table) write(line *bytes.Buffer, intentID, channelID *string, fields []field) error {
	fmt.Fprintf(line, `{"table":"%s"`, t.Name)
	if intentID != nil {
		fmt.Fprintf(line, `,"intent_id":"%s"`, *intentID)
	}
	if channelID != nil {
		fmt.Fprintf(line, `,"channel_id":"%s"`, *channelID)
	}
	line.WriteString(`,"row":{`)
	for i, f := range fields {
		if i > 0 {
			line.WriteByte(',')
		}
		fmt.Fprintf(line, `"%s":`, f.name)
		if err := f.cell.write(line); err != nil {
			return fmt.Errorf("the column %s: %w", f.name, err)
		}
	}
	line.WriteString("}}\n")
	return nil
}
