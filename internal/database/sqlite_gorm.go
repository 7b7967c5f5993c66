package database

import (
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
)

// sqliteGorm implements SQLite's dialect for gorm. gorm's own package for SQLite would link a second SQLite, written in C.
//
// It covers what rooms do with gorm: they read and change rows. The schema comes from migrations, so sqliteGorm refuses
// everything that would change it.
type sqliteGorm struct{ pool gorm.ConnPool }

var _ gorm.Dialector = sqliteGorm{}

func (sqliteGorm) Name() string { return "sqlite" }

func (d sqliteGorm) Initialize(db *gorm.DB) error {
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		CreateClauses: []string{"INSERT", "VALUES", "ON CONFLICT", "RETURNING"},
		UpdateClauses: []string{"UPDATE", "SET", "FROM", "WHERE", "RETURNING"},
		DeleteClauses: []string{"DELETE", "FROM", "WHERE", "RETURNING"},
	})
	db.ConnPool = d.pool
	db.ClauseBuilders["LIMIT"] = buildSQLiteLimit
	db.ClauseBuilders["FOR"] = func(clause.Clause, clause.Builder) {} // Write runs alone: there is nothing to lock
	return nil
}

// buildSQLiteLimit writes the numbers into the statement, because SQLite plans best if it knows the LIMIT. SQLite accepts no
// OFFSET without a LIMIT; a negative LIMIT means no bound.
func buildSQLiteLimit(c clause.Clause, builder clause.Builder) {
	limit, ok := c.Expression.(clause.Limit)
	if !ok {
		c.Build(builder)
		return
	}
	rows := -1
	if limit.Limit != nil {
		rows = *limit.Limit
	}
	if rows < 0 && limit.Offset <= 0 {
		return
	}
	_, _ = builder.WriteString("LIMIT " + strconv.Itoa(rows))
	if limit.Offset > 0 {
		_, _ = builder.WriteString(" OFFSET " + strconv.Itoa(limit.Offset))
	}
}

func (sqliteGorm) BindVarTo(writer clause.Writer, _ *gorm.Statement, _ any) {
	_ = writer.WriteByte('?')
}

// QuoteTo quotes each part of a name such as table.column.
func (sqliteGorm) QuoteTo(writer clause.Writer, name string) {
	for i, part := range strings.Split(name, ".") {
		if i > 0 {
			_ = writer.WriteByte('.')
		}
		_, _ = writer.WriteString(`"` + strings.ReplaceAll(part, `"`, `""`) + `"`)
	}
}

// Explain puts the values into a statement, for human readers.
func (sqliteGorm) Explain(sql string, values ...any) string {
	return logger.ExplainSQL(sql, nil, `'`, values...)
}

// DefaultValueOf returns the value in an INSERT of several rows for a column that one of them leaves to the database. SQLite
// gives a number to an INTEGER PRIMARY KEY that is NULL. For other columns it has no such value, and NULL would not be their
// default.
func (sqliteGorm) DefaultValueOf(field *schema.Field) clause.Expression {
	if field.AutoIncrement {
		return clause.Expr{SQL: "NULL"}
	}
	return clause.Expr{SQL: "DEFAULT"} // SQLite refuses it
}

// DataTypeOf returns a column's type for a table that gorm makes, which never happens here.
func (sqliteGorm) DataTypeOf(field *schema.Field) string { return string(field.DataType) }

// Migrator panics: only migrations change the schema.
func (sqliteGorm) Migrator(*gorm.DB) gorm.Migrator {
	panic("database: gorm changes no schema; write a migration instead")
}
