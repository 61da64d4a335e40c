package sqlite

import (
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/internal/btree"
)

// row is the present row of a statement, or one that was read without SQLite
// (still.go); its values are copies.
type row struct {
	*sqlite3.Stmt // nil: of rec

	rec    *btree.Record
	fields []int // of rec, by column of what was asked for; -1: the row's number
}

func (r row) int(col int) int64 {
	switch {
	case r.Stmt != nil:
		return r.ColumnInt64(col)
	case r.fields[col] < 0:
		return r.rec.RowID
	}
	return r.rec.Int(r.fields[col])
}

// raw returns a text or blob that is valid until the next row.
func (r row) raw(col int) []byte {
	switch {
	case r.Stmt != nil:
		return r.ColumnRawBlob(col)
	case r.fields[col] < 0:
		return nil
	}
	return r.rec.Bytes(r.fields[col])
}

func (r row) null(col int) bool {
	if r.Stmt != nil {
		return r.ColumnType(col) == sqlite3.NULL
	}
	return r.fields[col] >= 0 && r.rec.Null(r.fields[col])
}

func (r row) text(col int) string {
	if r.Stmt != nil {
		return r.ColumnText(col)
	}
	return string(r.raw(col))
}

func (r row) blob(col int) []byte {
	if r.Stmt != nil {
		return r.ColumnBlob(col, nil)
	}
	return append([]byte(nil), r.raw(col)...)
}

func (r row) bool(col int) bool     { return r.int(col) != 0 }
func (r row) uint64(col int) uint64 { return uint64(r.int(col)) }

// same returns a text that is most often the one of the row before.
func (r row) same(col int, before string) string {
	if text := r.raw(col); string(text) != before {
		return string(text)
	}
	return before
}

// tableLayout is the columns of a table in the order of their declaration. The
// field of the one that is the row's number, if there is one, is null.
type tableLayout struct {
	columns map[string]int // -1: the row's number
	count   int
}

// shardTables are the layouts of a shard's tables.
var shardTables = layouts(shardSchema)

// layouts reads the tables of a schema of ours.
func layouts(schema string) map[string]tableLayout {
	all := map[string]tableLayout{}
	for statement := range strings.SplitSeq(schema, ";") {
		_, table, ok := strings.Cut(statement, "CREATE TABLE ")
		begin, end := strings.Index(table, " ("), strings.LastIndex(table, ")")
		if !ok || begin < 0 || end < begin {
			continue // an index
		}
		layout := tableLayout{columns: map[string]int{}}
		depth := 0
		definitions := strings.FieldsFunc(table[begin+2:end], func(c rune) bool {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			return c == ',' && depth == 0
		})
		for _, d := range definitions {
			name, kind, _ := strings.Cut(strings.TrimSpace(d), " ")
			if name == "PRIMARY" {
				continue // a key of several columns
			}
			layout.columns[name] = layout.count
			if strings.HasPrefix(kind, "INTEGER PRIMARY KEY") {
				layout.columns[name] = -1
			}
			layout.count++
		}
		all[table[:begin]] = layout
	}
	return all
}

// fieldsOf gives the fields of a table's records that hold some columns, which
// are separated by commas, as in a statement.
func (l tableLayout) fieldsOf(columns string) (fields []int, ok bool) {
	for name := range strings.SplitSeq(columns, ", ") {
		field, ok := l.columns[name]
		if !ok {
			return nil, false
		}
		fields = append(fields, field)
	}
	return fields, true
}
