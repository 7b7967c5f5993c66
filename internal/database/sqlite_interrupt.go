package database

import (
	"context"
	"reflect"
	"time"

	"modernc.org/libc"
	codes "modernc.org/sqlite/lib"
)

// interruptAgain is the pause between two interrupts of a connection. One that comes just before a statement begins has no effect.
const interruptAgain = 10 * time.Millisecond

// interruptible interrupts the connection's statements once the context has ended, until stop is called. The driver does so itself for a
// context that can end, but with two goroutines for each statement, and no longer once the first row was found. This costs no goroutine
// before the context ends.
func (c *sqliteConnection) interruptible(ctx context.Context) (stop func()) {
	if c.handle == 0 || ctx.Done() == nil {
		return nil
	}
	handle, over, ended := c.handle, make(chan struct{}), make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(ended)
		interrupt(handle, over)
	})
	return func() {
		if forget() {
			return
		}
		close(over)
		<-ended // the handle must not be used any more when the connection serves others, or is closed
	}
}

// interrupt interrupts until that is over.
func interrupt(handle uintptr, over <-chan struct{}) {
	tls := libc.NewTLS()
	defer tls.Close()
	again := time.NewTicker(interruptAgain)
	defer again.Stop()
	for {
		codes.Xsqlite3_interrupt(tls, handle)
		select {
		case <-again.C:
		case <-over:
			return
		}
	}
}

// handleOf returns SQLite's handle of a driver's connection, which the driver keeps for itself. It is 0 for a driver that keeps it
// elsewhere; then nothing is interrupted, and a test fails.
func handleOf(driverConn any) uintptr {
	connection := reflect.Indirect(reflect.ValueOf(driverConn))
	if connection.Kind() != reflect.Struct {
		return 0
	}
	if handle := connection.FieldByName("db"); handle.Kind() == reflect.Uintptr {
		return uintptr(handle.Uint())
	}
	return 0
}
