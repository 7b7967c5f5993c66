package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// How often a command that works for long says how far it has come: on a terminal in a line that renews itself, elsewhere in a line now and
// then. A command that is done before says nothing.
const (
	renewEach = 250 * time.Millisecond
	lineEach  = 10 * time.Second
)

// progress says on standard error how far a command has come.
type progress struct {
	to    terminal
	began time.Time
	// live is true on a terminal.
	live bool

	lock  sync.Mutex
	now   string
	shown bool // whether the line on the terminal shows something

	ended chan struct{}
	over  sync.WaitGroup
}

// progress begins to say how far a command has come, until end is called. The command writes its results to the terminal that it returns, so
// that they do not get into the line.
func (t terminal) progress() (terminal, *progress) {
	p := &progress{to: t, began: time.Now(), live: isTerminal(t.stderr), ended: make(chan struct{})}
	if t.quiet {
		return t, p
	}
	if p.live && isTerminal(t.stdout) {
		t.stdout = clearing{p, t.stdout}
	}
	ticks, stop := t.ticks, func() {}
	if ticks == nil {
		each := lineEach
		if p.live {
			each = renewEach
		}
		ticker := time.NewTicker(each)
		ticks, stop = ticker.C, ticker.Stop
	}
	p.over.Go(func() {
		defer stop()
		for {
			select {
			case <-ticks:
				p.show()
			case <-p.ended:
				return
			}
		}
	})
	return t, p
}

// say sets what is said from now on.
func (p *progress) say(format string, arguments ...any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.now = fmt.Sprintf(format, arguments...)
}

// end ends it and clears the line.
func (p *progress) end() {
	close(p.ended)
	p.over.Wait()
	p.lock.Lock()
	defer p.lock.Unlock()
	p.clear()
}

func (p *progress) show() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.now == "" {
		return
	}
	line := escaped(fmt.Sprintf("openintent: %s, %s", p.now, time.Since(p.began).Round(time.Second)))
	if !p.live {
		_, _ = fmt.Fprintln(p.to.stderr, line)
		return
	}
	p.clear()
	if width := widthOf(p.to.stderr); width > 1 {
		line = shortened(line, width-1)
	}
	_, _ = io.WriteString(p.to.stderr, line)
	p.shown = true
}

// clear empties the line. The lock must be held.
func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.to.stderr, "\r\x1b[K")
		p.shown = false
	}
}

// clearing writes where the line is, once that is empty.
type clearing struct {
	*progress
	to io.Writer
}

func (c clearing) Write(text []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.clear()
	return c.to.Write(text)
}
