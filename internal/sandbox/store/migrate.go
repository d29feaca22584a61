package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// applicationID marks a SQLite file as a sandbox's ("vcrd").
const applicationID = 0x76637264

// schema holds the migrations: NNNN_name.sql, applied in the order of names.
// The number of applied ones is the file's user_version.
//
//go:embed schema/*.sql
var schema embed.FS

// migrate applies what is missing, each file once, whichever process comes first.
func migrate(ctx context.Context, p *pool) error {
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return err
	}
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	if err := tx.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := tx.upgrade(files); err != nil {
		return errors.Join(err, tx.Exec("ROLLBACK"))
	}
	return tx.Exec("COMMIT")
}

func (tx *Tx) upgrade(files []string) error {
	version, err := tx.version()
	if err != nil || version == len(files) {
		return err
	}
	for _, name := range files[version:] {
		script, err := schema.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.conn.raw.ExecContext(tx.ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	// PRAGMA takes no parameters.
	if err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", len(files)))
}

// version tells how many migrations the file has, after making sure that the
// file is a sandbox's or empty.
func (tx *Tx) version() (int, error) {
	var application, version, tables int
	for query, dest := range map[string]*int{
		"PRAGMA application_id":              &application,
		"PRAGMA user_version":                &version,
		"SELECT COUNT(*) FROM sqlite_master": &tables,
	} {
		if _, err := tx.Get([]any{dest}, query); err != nil {
			return 0, err
		}
	}
	files, err := fs.Glob(schema, "schema/*.sql")
	switch {
	case err != nil:
		return 0, err
	case tables > 0 && application != applicationID:
		return 0, errors.New("it is another program's SQLite file; choose another path")
	case version < 0:
		return 0, fmt.Errorf("it is damaged: %d is no version of a sandbox file; choose another path", version)
	case version > len(files):
		return 0, errors.New("it was written by a newer version of this program; upgrade, or choose another path")
	}
	return version, nil
}
