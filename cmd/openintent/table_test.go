package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTablesAlignWideCharacters(t *testing.T) {
	var stdout bytes.Buffer
	to := terminal{stdout: &stdout}
	growing := newTable("WHO", "WHAT")
	growing.add("alice", "one")
	growing.add("漢字", "two\nlines")
	require.NoError(t, growing.print(to))
	growing.add("somebody else", "")
	require.NoError(t, growing.print(to))
	growing.add("bob", "four")
	require.NoError(t, growing.print(to))
	require.Equal(t, `WHO    WHAT
alice  one
漢字   two\nlines
somebody else
bob            four
`, stdout.String(), "the headings appear once, and the columns only grow")
}

func TestTheLastColumnIsCut(t *testing.T) {
	narrow := newTable("WHO", "WHAT")
	row := []string{"alice", "a payload that is much longer than the terminal is wide"}
	narrow.widen(row)
	require.Equal(t, "alice  a payload that is much longer …", narrow.line(row, 38))
	require.Equal(t, "alice  a payload that is m…", narrow.line(row, 10), "never to nothing")
	require.Equal(t, "alice  "+row[1], narrow.line(row, 0), "a file is as wide as need be")
}

func TestFieldsWithoutValuesAreLeftOut(t *testing.T) {
	var stdout bytes.Buffer
	var shown fields
	shown.add("id", "x")
	shown.add("closed", "")
	shown.add("created by", "\x1b[1malice")
	require.NoError(t, shown.print(terminal{stdout: &stdout}))
	require.Equal(t, "id          x\n"+`created by  \u001b[1malice`+"\n", stdout.String())
	require.NoError(t, fields{}.print(terminal{stdout: &stdout}))
}
