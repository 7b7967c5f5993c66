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
	// noticesPending bounds the notices that wait to be sent. Beyond it "anything may have happened" is sent instead.
	noticesPending = 8192
	// payloadBytes bounds one notification: PostgreSQL accepts less than 8000 bytes.
	payloadBytes = 7999
	// restFactor is how many times as long as a notification took the next one waits, and longestRest is the longest such rest. Under
	// load each commit has notices, and a notification for each of them would take processor time from the commits.
	restFactor  = 4
	longestRest = 5 * time.Millisecond
	// silentNotices is how long a listener hears nothing before it checks whether its connection still works.
	silentNotices = silencePatience
	// countAgainAfter is how long a replica keeps sending notices without checking whether there are other replicas.
	countAgainAfter = 10 * time.Second
)

// greeting is what a replica sends when it begins to listen: a payload with one empty notice.
const greeting = "\n\n"

// NotifierConfig says how a Notifier sends and handles notices. None of the functions may block.
type NotifierConfig struct {
	// Channel is a name of at most 63 bytes, which must be the same for all replicas.
	Channel string
	// Heard is called with the notices of another replica.
	Heard func(notices []string)
	// Unheard is called when notices may have been missed: whenever listening begins, and when another replica had too many to
	// send.
	Unheard func()
	// Observe is called with the number of notifications sent or received; may be nil.
	Observe func(sent, received int)
	// Logger receives a line for each lost connection; nil discards them.
	Logger *slog.Logger
}

// Notifier sends notices of what happened to the other replicas on a database, in words that the replicas agree on, and
// receives theirs. On SQLite there are no other replicas, and it does nothing. A replica that is alone sends no notices either.
// It is alone if it has counted no other listeners and has heard no greeting since; every replica greets when it begins to
// listen.
//
// While a replica believes that it is alone, another may begin to listen whose greeting is still under way, and that one gets
// no notices. So a replica that learns that it is not alone tells all others to look at everything.
//
// A Notifier guarantees nothing: it does not repeat a lost notice, so code that relies on notices must also look from time to
// time without any. But when it knows that notices may have been lost, it calls Unheard.
type Notifier struct {
	cfg     NotifierConfig
	server  replicated // nil if there can be no other replicas
	replica string     // identifies this replica's own notifications

	mutex      sync.Mutex
	pending    map[string]struct{}
	everything bool // send "anything may have happened" instead of pending
	wake       chan struct{}
	alone      bool      // as far as this replica can know, nobody else listens
	listening  bool      // this replica hears greetings
	greetings  int       // how often another replica may have come
	counted    time.Time // when the listeners were last counted

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// replicated is implemented by a dialect whose database several processes may open simultaneously.
type replicated interface {
	// connectNotices makes a separate connection for notifications.
	connectNotices(ctx context.Context) (noticeConnection, error)
	// leads reports whether this process leads the named work. Only one process does at any time.
	leads(ctx context.Context, name string) (ours bool, err error)
}

// noticeConnection is a connection for notifications. After an error it cannot be used any more.
type noticeConnection interface {
	// listen begins to listen. From then on, until it ends, the connection is counted as a listener.
	listen(ctx context.Context, channel string) error
	listeners(ctx context.Context, channel string) (count int, err error)
	// receive waits for a notification. It fails if the connection is lost, even if nothing is ever sent over it.
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

// Start begins sending and listening, over two connections outside the pools. Both keep trying while the database is away.
func (n *Notifier) Start() {
	if n.server == nil {
		return
	}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	n.running.Go(func() { n.listen(ctx) })
	n.running.Go(func() { n.speak(ctx) })
}

// Stop sends the notices that are still pending, unless the database is away, and waits until both connections are closed.
func (n *Notifier) Stop() {
	if n.cancel != nil {
		n.cancel()
	}
	n.running.Wait()
}

// Tell sends notices to the other replicas soon, and never waits for that. Call it after the commit that the notices are about.
// Notices that are told while a notification is under way, or shortly after, go with the next one, each of them once.
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

// tellable reports whether a notice can be part of a payload.
func tellable(notice, replica string) bool {
	return notice != "" && len(replica)+1+len(notice) <= payloadBytes && utf8.ValidString(notice) &&
		strings.IndexFunc(notice, unicode.IsControl) < 0
}

// take takes the pending notices, as payloads.
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

// payloadsOf puts notices into as few payloads as possible. A payload has the replica in its first line and one notice in each
// further line. A payload without notices means that anything may have happened.
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

// speak sends the pending notices, one batch at a time, until the context ends and the last batch is sent. After each batch it rests for a
// multiple of the time that the batch took, while more notices gather. So a notice after a pause goes at once, and many notices go
// together.
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
		began := time.Now()
		if err := n.send(ctx, &conn); err != nil {
			n.cfg.Logger.Warn("other replicas could not be notified; they are told to look at everything later", "error", err)
			n.forget()
			attempts.wait(ctx)
			continue
		}
		attempts.worked()
		pause(ctx, min(restFactor*time.Since(began), longestRest))
	}
}

// send sends all pending notices. The end of the context does not interrupt it, but it has a short time limit.
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
	// The notices go out even if there are no other listeners, because one may have come while they waited.
	if err := conn.send(ctx, n.cfg.Channel, payloads); err != nil {
		return err
	}
	n.cfg.Observe(len(payloads), 0)
	return nil
}

// count finds out, from time to time, whether this replica is alone. A replica greets after it has begun to listen, so if no
// greeting came during the count, the count has not missed anybody.
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
	// One of the listeners must be this replica, because otherwise it would not hear greetings.
	n.alone = listeners == 1 && n.listening && greetings == n.greetings
	return nil
}

// company notes that another replica may have come.
func (n *Notifier) company() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.greetings++
	n.endSolitude()
}

// listens notes whether this replica hears the others.
func (n *Notifier) listens(listening bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.listening = listening
	n.greetings++
	n.endSolitude()
}

// endSolitude is called when another replica may be there. From then on this replica sends its notices. If it believed that it
// was alone, it first sends "anything may have happened" in place of the notices that it did not send before.
func (n *Notifier) endSolitude() {
	if !n.alone {
		return
	}
	n.alone = false
	n.tellEverything()
}

// tellEverything replaces the pending notices by "anything may have happened".
func (n *Notifier) tellEverything() {
	n.everything = true
	clear(n.pending)
	n.signal()
}

// forget replaces notices that could not be sent by "anything may have happened", which is sent once that is possible again.
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
		n.cfg.Logger.Warn("other replicas cannot be heard at the moment; everyone looks at everything later", "error", err)
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

// receive passes on the notices of another replica.
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
