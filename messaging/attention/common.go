package attention

import (
	"database/sql"
	"slices"
	"time"

	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// Common are facts about messages that are the same for all their recipients: who claims them, and what was answered.
type Common struct {
	known   map[place]struct{}
	claims  map[place][]*claim.Claim
	answers map[place]answers
	// owed are the subjects of the requests with open obligations.
	owed map[place]string
}

// answers are those to a request: when the first one was stored, and how many agents have answered.
type answers struct {
	first  time.Time
	agents int
}

func newCommon() *Common {
	return &Common{known: make(map[place]struct{}), answers: make(map[place]answers)}
}

// ReadCommon reads the facts about some messages.
func ReadCommon(tx *database.Tx, messages []*message.Message) (*Common, error) {
	c := newCommon()
	return c, c.read(tx, c.statements(tx, messages))
}

// read runs statements, among them those of the facts, and then reads who holds claims, if anybody does.
func (c *Common) read(tx *database.Tx, statements []database.Statement) error {
	if err := tx.Pipeline(statements...); err != nil {
		return err
	}
	return claim.LoadPresences(tx, c.claims)
}

// Knows reports whether the facts about a message were read.
func (c *Common) Knows(m *message.Message) bool {
	if c == nil {
		return false
	}
	_, known := c.known[placeOf(m)]
	return known
}

// statements returns one statement for the claims, unless no message can have any, and one for the answers, if they matter for
// some message.
func (c *Common) statements(tx *database.Tx, messages []*message.Message) (statements []database.Statement) {
	var claimable, answerable, obliging []place
	for _, m := range messages {
		c.known[placeOf(m)] = struct{}{}
		if mayBeClaimed(m) {
			claimable = append(claimable, placeOf(m))
		}
		if countsAnswers(m) || wasEdited(m) {
			answerable = append(answerable, placeOf(m))
		}
		if request, obliges := obligationOf(m); obliges {
			obliging = append(obliging, request)
		}
	}
	if len(obliging) > 0 {
		statements = append(statements, c.owedStatement(tx, obliging))
	}
	if len(claimable) > 0 {
		claims, statement := claim.PrepareAt(tx, claimable...)
		c.claims, statements = claims, append(statements, statement)
	}
	if len(answerable) > 0 {
		statements = append(statements, c.answersStatement(tx, answerable))
	}
	return statements
}

// answersStatement reads the answers row by row through their index.
func (c *Common) answersStatement(tx *database.Tx, requests []place) database.Statement {
	const to = " FROM messages m WHERE m.intent_no = d.intent_no AND m.correlation_position = d.position)"
	in, arguments := tx.InRows(columns(slices.Values(requests))...)
	return database.Statement{
		SQL: "SELECT d.intent_no, d.position, (SELECT min(m.created_at)" + to + ", (SELECT count(DISTINCT m.sender)" + to +
			" FROM messages d WHERE " + in,
		Args: arguments,
		Scan: func(row database.Row) error {
			var request place
			var found answers
			var first sql.NullInt64
			err := row.Scan(&request.IntentNo, &request.Position, &first, &found.agents)
			if first.Valid {
				found.first = database.Time(first.Int64)
			}
			c.answers[request] = found
			return err
		},
	}
}

// mayBeClaimed reports whether somebody may hold a claim on the message: it is a request, or no reply.
func mayBeClaimed(m *message.Message) bool {
	return m.Type == message.TypeRequest || m.ThreadRoot() == m.Position
}

// countsAnswers reports whether it matters how many agents have answered: each of them has taken one of several places.
func countsAnswers(m *message.Message) bool { return m.Open && m.ExactAnswers() > 1 }

// wasEdited reports whether the message is a request that was edited.
func wasEdited(m *message.Message) bool {
	return m.Type == message.TypeRequest && m.Conversation != nil && !m.Conversation.EditedAt.IsZero()
}

func (c *Common) claimsOf(m *message.Message) []*claim.Claim { return c.claims[placeOf(m)] }

// answersTo returns how many agents have answered a request that takes answers from several.
func (c *Common) answersTo(m *message.Message) int {
	if !countsAnswers(m) {
		return 0
	}
	return c.answers[placeOf(m)].agents
}

// editedAfterResponse reports whether a request was edited after its first answer.
func (c *Common) editedAfterResponse(m *message.Message) bool {
	first := c.answers[placeOf(m)].first
	return wasEdited(m) && !first.IsZero() && first.Before(m.Conversation.EditedAt)
}
