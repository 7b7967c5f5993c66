package database

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// noticesPending bounds the notices that wait to be told. Beyond it "anything may have happened" says as much.
	noticesPending = 8192
	// payloadBytes bounds one notification: PostgreSQL takes less than 8000 bytes.
	payloadBytes = 7999
	// silentNotices is how long a listener hears nothing before it asks whether its connection still works.
	silentNotices = silencePatience
	// countAgainAfter is how long a replica goes on telling others without looking whether there are any.
	countAgainAfter = 10 * time.Second
)

// greeting is what a replica says when it begins to listen: a payload of one notice that is none.
const greeting = "\n\n"

// NotifierConfig says what a Notifier tells and hears. None of the functions may block.
type NotifierConfig struct {
	// Channel is what the replicas have in common: a name of at most 63 bytes.
	Channel string
	// Heard is given what another replica has told.
	Heard func(notices []string)
	// Unheard is called when anything may have been told without having been heard: whenever listening begins, and when
	// another replica had too much to tell.
	Unheard func()
	// Observe is told how many notifications were sent or received; nil when nobody counts.
	Observe func(sent, received int)
	// Logger is told of lost connections; nil discards.
	Logger *slog.Logger
}

// Notifier tells the other replicas on a database what has happened, in words that mean something to them, and hears of
// it from them. On SQLite there are no others, and it does nothing. A replica that is alone tells nothing either: who begins
// to listen greets, and until it has heard a greeting since it counted no others, a replica knows that it is alone.
//
// What a replica did while it believed itself alone it has told nobody, and another may have come meanwhile whose greeting
// was still under way. So whoever learns that it is not alone tells everyone to look at everything.
//
// It promises nothing: a notice that gets lost is not repeated, so whoever goes by notices must also look now and then
// without any. What it does do is say so, by Unheard, when it knows that something may have been lost.
type Notifier struct {
	cfg     NotifierConfig
	server  replicated // nil when there are no others
	replica string     // by which a replica knows its own notifications

	mutex      sync.Mutex
	pending    map[string]struct{}
	everything bool // instead of pending: too much has happened to tell it all
	wake       chan struct{}
	alone      bool      // nobody else listens, as far as anybody can know
	listening  bool      // this replica hears who comes
	greetings  int       // how often somebody may have come
	counted    time.Time // when the listeners were last counted

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// replicated is the part of a dialect whose database several processes may have open at once.
type replicated interface {
	// connectNotices makes a connection of its own for notifications.
	connectNotices(ctx context.Context) (noticeConnection, error)
	// turn tells whether this process has the named work, which only one of the processes has at any time.
	turn(ctx context.Context, name string) (ours bool, err error)
}

// noticeConnection is a connection for notifications. After an error it is of no more use.
type noticeConnection interface {
	// listen begins to listen, and to count among the listeners until the connection ends.
	listen(ctx context.Context, channel string) error
	listeners(ctx context.Context, channel string) (count int, err error)
	// receive waits for a notification. It fails when the connection is lost, even if nothing is ever sent to it.
	receive(ctx context.Context) (payload string, err error)
	send(ctx context.Context, channel string, payloads []string) error
	close()
}

// Notifier makes a Notifier that is not yet started.
func (db *DB) Notifier(cfg NotifierConfig) *Notifier {
	server, _ := db.dialect.(replicated)
	return newNotifier(server, cfg)
}

func newNotifier(server replicated, cfg NotifierConfig) *Notifier {
	if cfg.Observe == nil {
		cfg.Observe = func(int, int) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{
		cfg: cfg, server: server, replica: rand.Text(),
		pending: make(map[string]struct{}), wake: make(chan struct{}, 1),
	}
}

// Start begins telling and listening, over two connections beside the pools. Both go on trying while the database is
// away.
func (n *Notifier) Start() {
	if n.server == nil {
		return
	}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	n.running.Go(func() { n.listen(ctx) })
	n.running.Go(func() { n.speak(ctx) })
}

// Stop tells what is still to be told, unless the database is away, and waits until both connections are closed.
func (n *Notifier) Stop() {
	if n.cancel != nil {
		n.cancel()
	}
	n.running.Wait()
}

// Tell tells the other replicas, soon, and never waits for that. Call it after the commit of what it tells. What is told
// while a notification is under way goes with the next, once.
func (n *Notifier) Tell(notices ...string) {
	if n.server == nil || len(notices) == 0 {
		return
	}
	n.mutex.Lock()
	if n.alone {
		n.mutex.Unlock()
		return
	}
	for _, notice := range notices {
		n.pending[notice] = struct{}{}
		n.everything = n.everything || len(n.pending) > noticesPending || !tellable(notice, n.replica)
		if n.everything {
			clear(n.pending)
			break
		}
	}
	n.mutex.Unlock()
	n.signal()
}

func (n *Notifier) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// tellable tells whether a notice can be part of a payload.
func tellable(notice, replica string) bool {
	return notice != "" && len(replica)+1+len(notice) <= payloadBytes && utf8.ValidString(notice) &&
		strings.IndexFunc(notice, unicode.IsControl) < 0
}

// take takes over what is to be told, as payloads.
func (n *Notifier) take() (payloads []string) {
	n.mutex.Lock()
	notices, everything := n.pending, n.everything
	n.pending, n.everything = make(map[string]struct{}), false
	n.mutex.Unlock()
	if everything {
		return []string{n.replica}
	}
	return payloadsOf(n.replica, notices)
}

// payloadsOf puts notices into as few payloads as they need: the replica and what it has to tell, line by line. A payload
// without notices says that anything may have happened.
func payloadsOf(replica string, notices map[string]struct{}) (payloads []string) {
	var payload strings.Builder
	for notice := range notices {
		if payload.Len() > 0 && payload.Len()+1+len(notice) > payloadBytes {
			payloads = append(payloads, payload.String())
			payload.Reset()
		}
		if payload.Len() == 0 {
			payload.WriteString(replica)
		}
		payload.WriteByte('\n')
		payload.WriteString(notice)
	}
	if payload.Len() > 0 {
		payloads = append(payloads, payload.String())
	}
	return payloads
}

// speak sends what is to be told, one batch at a time, until the context ends and the last batch is sent.
func (n *Notifier) speak(ctx context.Context) {
	var conn noticeConnection
	defer func() {
		if conn != nil {
			conn.close()
		}
	}()
	var attempts reconnecting
	for ended := false; !ended; {
		select {
		case <-n.wake:
		case <-ctx.Done():
			ended = true
		}
		if err := n.send(ctx, &conn); err != nil {
			n.cfg.Logger.Warn("other replicas could not be notified; they are told to look at everything later", "error", err)
			n.forget()
			attempts.wait(ctx)
			continue
		}
		attempts.worked()
	}
}

// send sends all that is to be told. It does not end with the context, but soon.
func (n *Notifier) send(ctx context.Context, conn *noticeConnection) (err error) {
	payloads := n.take()
	if len(payloads) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishPatience)
	defer cancel()
	if *conn == nil {
		if *conn, err = n.server.connectNotices(ctx); err != nil {
			*conn = nil
			return err
		}
	}
	if err := n.sendOver(ctx, *conn, payloads); err != nil {
		(*conn).close()
		*conn = nil
		return err
	}
	return nil
}

func (n *Notifier) sendOver(ctx context.Context, conn noticeConnection, payloads []string) error {
	if err := n.count(ctx, conn); err != nil {
		return err
	}
	// What was to be told goes out even if nobody was counted: somebody may have come while it waited.
	if err := conn.send(ctx, n.cfg.Channel, payloads); err != nil {
		return err
	}
	n.cfg.Observe(len(payloads), 0)
	return nil
}

// count finds out, now and then, whether this replica is alone: whoever listens greets afterwards, so nobody has come
// unheard if there was no greeting while it counted.
func (n *Notifier) count(ctx context.Context, conn noticeConnection) error {
	n.mutex.Lock()
	greetings, due := n.greetings, time.Since(n.counted) > countAgainAfter
	n.mutex.Unlock()
	if !due {
		return nil
	}
	listeners, err := conn.listeners(ctx, n.cfg.Channel)
	if err != nil {
		return err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.counted = time.Now()
	// One of the listeners is this replica: without itself it would not hear who comes.
	n.alone = listeners == 1 && n.listening && greetings == n.greetings
	return nil
}

// company is called when somebody else may have come.
func (n *Notifier) company() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.greetings++
	n.endSolitude()
}

// listens notes whether this replica hears others.
func (n *Notifier) listens(listening bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.listening = listening
	n.greetings++
	n.endSolitude()
}

// endSolitude makes up for what a replica that believed itself alone did not tell, now that somebody may be there: from here
// on everything is told, and what was not told before is told as "anything may have happened".
func (n *Notifier) endSolitude() {
	if !n.alone {
		return
	}
	n.alone = false
	n.tellEverything()
}

// tellEverything gives up the pending notices in favour of "anything may have happened".
func (n *Notifier) tellEverything() {
	n.everything = true
	clear(n.pending)
	n.signal()
}

// forget gives up what could not be told in favour of "anything may have happened", to be told when that is possible again.
func (n *Notifier) forget() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.tellEverything()
}

// listen listens until the context ends.
func (n *Notifier) listen(ctx context.Context) {
	var attempts reconnecting
	for ctx.Err() == nil {
		began := time.Now()
		err := n.hear(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestPause {
			attempts.worked()
		}
		n.cfg.Logger.Warn("other replicas are not heard for the moment; everyone looks at everything later", "error", err)
		attempts.wait(ctx)
	}
}

// hear listens until the connection is lost or the context ends.
func (n *Notifier) hear(ctx context.Context) error {
	conn, err := n.server.connectNotices(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.listen(ctx, n.cfg.Channel); err != nil {
		return err
	}
	if err := conn.send(ctx, n.cfg.Channel, []string{n.replica + greeting}); err != nil {
		return err
	}
	n.listens(true)
	defer n.listens(false)
	n.cfg.Unheard()
	for {
		payload, err := conn.receive(ctx)
		if err != nil {
			return err
		}
		n.receive(payload)
	}
}

// receive hands on what another replica has told.
func (n *Notifier) receive(payload string) {
	replica, notices, some := strings.Cut(payload, "\n")
	if replica == n.replica {
		return
	}
	n.company()
	if "\n"+notices == greeting {
		return
	}
	n.cfg.Observe(0, 1)
	if !some {
		n.cfg.Unheard()
		return
	}
	n.cfg.Heard(strings.Split(notices, "\n"))
}
