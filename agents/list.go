package agents

import (
	"context"
	"encoding/json"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/reach"
)

// mostCounted is how far a list counts.
const mostCounted = 10_000

// ListAgents lists a page of the records that the caller may see. Without a status in the request it lists active agents, or
// under the compatibility profile all agents.
func (s *Service) ListAgents(
	ctx context.Context, req *openintentv1.ListAgentsRequest,
) (*openintentv1.ListAgentsResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("role_id", req.GetRoleId()); err != nil {
		return nil, err
	}
	var after string
	page, err := pages.Begin("agents", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListAgentsResponse{}
	var agents []*Agent
	var reached map[string]*reach.Reach
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		var total int64
		agents, total, err = list(tx, page, filterOf(c, req), after, s.mostCounted)
		response.Total, response.TotalBounded = min(total, s.mostCounted), total > s.mostCounted
		if err == nil && len(req.GetInclude()) > 0 {
			reached, err = s.here.Read(tx, idsOf(agents))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Agent, len(agents))
	for i, agent := range agents {
		if messages[i], err = withReach(agent, reached, nil); err != nil {
			return nil, err
		}
	}
	response.Agents, response.NextCursor = pages.Close(page, messages, func(i int) []any { return []any{agents[i].ID} })
	return response, nil
}

func idsOf(agents []*Agent) []string {
	ids := make([]string, len(agents))
	for i, agent := range agents {
		ids[i] = agent.ID
	}
	return ids
}

// filter selects records; empty fields select everything.
type filter struct {
	status               Status
	role                 string
	minAvailableCapacity *int64
	capabilities         []string
	// only leaves these agents' records, if it is not nil.
	only []string
}

func filterOf(c caller.Caller, req *openintentv1.ListAgentsRequest) filter {
	f := filter{status: StatusActive, role: req.GetRoleId(), capabilities: req.GetCapabilities()}
	switch {
	case req.Status != nil:
		f.status = statusOf(req.GetStatus())
	case c.Compatibility:
		f.status = ""
	}
	if !c.Scope.ShowsAllAgents() {
		f.only = append([]string{c.Agent}, c.KeyAgents...)
	}
	if req.MinAvailableCapacity != nil {
		least := int64(req.GetMinAvailableCapacity())
		f.minAvailableCapacity = &least
	}
	return f
}

// condition returns the filter in SQL. A list of capabilities, which is stored as JSON, contains each of them as a JSON text after a
// bracket or a comma, and nothing else that reads so.
func (f filter) condition(tx *database.Tx) (sql string, args []any) {
	sql = "1 = 1"
	if f.status != "" {
		sql, args = sql+" AND status = ?", append(args, string(f.status))
	}
	if f.role != "" {
		sql, args = sql+" AND role_id = ?", append(args, f.role)
	}
	if f.minAvailableCapacity != nil {
		sql, args = sql+" AND max_concurrent_tasks - current_load >= ?", append(args, *f.minAvailableCapacity)
	}
	if len(f.capabilities) > 0 {
		var either []string
		for _, capability := range f.capabilities {
			text, err := json.Marshal(capability)
			if err != nil {
				panic(err) // a text always has a JSON form
			}
			for _, before := range []string{"[", ","} { // a quotation mark within a text has a backslash before it
				listed, argument := tx.Contains("capabilities", append([]byte(before), text...))
				either, args = append(either, listed), append(args, argument)
			}
		}
		sql += " AND (" + strings.Join(either, " OR ") + ")"
	}
	if f.only != nil {
		sql += " AND agent_id IN (?" + strings.Repeat(", ?", len(f.only)-1) + ")"
		for _, agentID := range f.only {
			args = append(args, agentID)
		}
	}
	return sql, args
}

// list reads a page of records that begins after an id, in the order of agent ids, and counts what the filter selects, at most one more than
// a bound.
func list(
	tx *database.Tx, page *pages.Page, f filter, after string, bound int64,
) (agents []*Agent, total int64, err error) {
	const size = "300 + octet_length(agent_id) + COALESCE(octet_length(name), 0) + COALESCE(octet_length(endpoint), 0)" +
		" + octet_length(capabilities) + octet_length(metadata)" +
		" + COALESCE(octet_length(status_note), 0) + COALESCE(octet_length(presence_reason), 0)"
	condition, args := f.condition(tx)
	if err := tx.Pipeline(database.ReadValue(&total,
		"SELECT count(*) FROM (SELECT 1 FROM agents WHERE "+condition+" LIMIT ?) AS counted", append(args[:len(args):len(args)], bound+1)...,
	)); err != nil {
		return nil, 0, err
	}
	condition, args = condition+" AND agent_id > ?", append(args, after)
	rows, err := page.Fit(tx, size, " FROM agents WHERE "+condition+" ORDER BY agent_id", args...)
	if err != nil || rows == 0 {
		return nil, total, err
	}
	agents, err = read(tx.Gorm().Where(condition, args...).Order("agent_id").Limit(rows))
	return agents, total, err
}
