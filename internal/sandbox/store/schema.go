package store

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for the schema
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// applicationID marks a SQLite file as a sandbox's ("vcrd").
const applicationID = 0x76637264

//go:embed schema.sql
var schema string

// schemaVersion is the user_version of a file with this schema: its checksum.
func schemaVersion() int32 { return int32(crc32.ChecksumIEEE([]byte(schema))) } //nolint:gosec // any 32 bits do

// mark is what a SQLite file says about itself.
type mark struct {
	empty                bool // it has no table
	application, version int32
}

// refuse says in words why this program cannot use a file.
func (m mark) refuse() error {
	switch {
	case m == mark{empty: true}, m == mark{application: applicationID, version: schemaVersion()}:
		return nil
	case m.application == applicationID:
		return errors.New("it was written by another version of this program, whose files this one does not read; choose another path, or remove the file to begin anew")
	}
	return errors.New("it is another program's SQLite file; choose another path")
}

// checkHeader refuses a file by its first bytes, before anything of it is changed. What it
// cannot see, since it is still in a log beside the file, create sees.
func checkHeader(file *os.File) error {
	// Where SQLite's file format has what is looked at.
	const (
		magic         = "SQLite format 3\x00"
		atVersion     = 60
		atApplication = 68
		atPageKind    = 100 // of the page that lists the tables
		atEntries     = 103
		leaf          = 0x0d
	)
	var header [atEntries + 2]byte
	switch n, err := file.ReadAt(header[:], 0); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case n < len(header), !bytes.HasPrefix(header[:], []byte(magic)):
		return errNotSQLite
	}
	number := func(at int) int32 { return int32(binary.BigEndian.Uint32(header[at:])) } //nolint:gosec // as SQLite has it
	m := mark{application: number(atApplication), version: number(atVersion)}
	entries := binary.BigEndian.Uint16(header[atEntries:])
	m.empty = m == mark{} && header[atPageKind] == leaf && entries == 0
	return m.refuse()
}

// create makes the schema in a new file, once, whichever process comes first.
func create(ctx context.Context, p *pool) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	return tx.run("BEGIN IMMEDIATE", func(tx *Tx) error {
		var m mark
		_, err := tx.Get([]any{&m.empty, &m.application, &m.version}, `
			SELECT (SELECT COUNT(*) FROM sqlite_master) = 0, application_id, user_version FROM pragma_application_id, pragma_user_version`)
		if err = cmp.Or(err, m.refuse()); err != nil || !m.empty {
			return err
		}
		// PRAGMA takes no parameters.
		_, err = c.raw.ExecContext(tx.ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d",
			schema, applicationID, schemaVersion()))
		return err
	})
}

// check refuses a file that is damaged, before anybody believes a balance in it.
func check(ctx context.Context, p *pool) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	found, err := Value[string](tx, `PRAGMA quick_check(1)`)
	if err == nil && found != "ok" {
		return errDamaged
	}
	return err
}
