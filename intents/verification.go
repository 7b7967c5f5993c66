package intents

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/optional"
	"openintent/internal/pages"
)

// verifyPage is how many events are in memory at a time while a chain is recomputed.
const verifyPage = 500

var errVerificationRunning = fault.New(fault.Quota, "VERIFICATION_RUNNING",
	"This caller is already verifying a log; try again when that is done.").After(time.Second)

// verifications are the verifications under way, by caller.
type verifications struct {
	mutex   sync.Mutex
	running map[string]struct{}
}

// begin lets a caller verify one log at a time. The caller calls end when the verification is over.
func (v *verifications) begin(c caller.Caller) (end func(), err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	who := c.KeyID + " " + c.Agent
	if _, already := v.running[who]; already {
		return nil, errVerificationRunning
	}
	if v.running == nil {
		v.running = make(map[string]struct{})
	}
	v.running[who] = struct{}{}
	return func() {
		v.mutex.Lock()
		defer v.mutex.Unlock()
		delete(v.running, who)
	}, nil
}

// VerifyEvents recomputes an intent's hash chain from the stored events, page by page. It needs no snapshot of the whole log,
// because the log only grows at its end, and is removed only from its beginning: it reads each page separately, with the rights that the
// caller has at that moment and with the checkpoint, and the last page together with the head. Pages are heavy reads, which callers take in turn, so a long log does not block the
// verification of another.
func (s *Service) VerifyEvents(
	ctx context.Context, req *openintentv1.VerifyEventsRequest,
) (*openintentv1.VerifyEventsResponse, error) {
	check := newChainCheck()
	if req.Limit != nil {
		check.wanted = int(req.GetLimit())
	}
	if req.GetCursor() != "" {
		if err := pages.Parse(verificationList, req.GetCursor(), &check.after); err != nil {
			return nil, err
		}
	}
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	end, err := s.verifications.begin(c)
	if err != nil {
		return nil, err
	}
	defer end()
	for complete := false; !complete; {
		if complete, err = s.verifyPage(ctx, req.GetIntentId(), check); err != nil {
			return nil, err
		}
	}
	if check.breakCount > 0 {
		s.logger.Warn("an event log does not verify", "intent", req.GetIntentId(), "breaks", check.breakCount)
	}
	return verificationMessage(req.GetIntentId(), check), nil
}

// verifyPage checks the next page of events, and reports whether the log ends with it.
func (s *Service) verifyPage(ctx context.Context, intentID string, check *chainCheck) (complete bool, err error) {
	page := pages.Of(verificationList, verifyPage)
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, intentID, PermissionRead)
		if err != nil {
			return err
		}
		removed, err := checkpointOf(tx, &head)
		if err != nil {
			return err
		}
		if check.removed = removed; removed.sequence > check.last { // also if it was removed while the pages were read
			check.from(removed)
		}
		events, err := (&eventList{after: check.last, before: math.MaxInt64}).read(tx, page, head.IntentNo)
		if err != nil {
			return err
		}
		for _, event := range events {
			check.next(event)
			runtime.Gosched() // a long log must not keep short calls waiting for the processor
		}
		if complete = !page.More(); complete {
			check.end(head.LastSequence, head.lastHash)
		}
		return nil
	})
	return complete && err == nil, err
}

// verificationList is the name of the list of outcomes in cursors.
const verificationList = "verification"

func verificationMessage(intentID string, check *chainCheck) *openintentv1.VerifyEventsResponse {
	response := &openintentv1.VerifyEventsResponse{
		IntentId:      intentID,
		EventCount:    check.count,
		FirstSequence: check.first,
		LastSequence:  check.last,
		LastEventHash: optional.Text(check.lastHash),
		ChainValid:    check.linked,
		Valid:         check.breakCount == 0,
		BreakCount:    check.breakCount,
		Checkpoint:    check.removed.toWire(),
	}
	for _, found := range check.breaks {
		response.Breaks = append(response.Breaks,
			&openintentv1.ChainBreak{Sequence: found.sequence, Reason: found.reason})
	}
	for _, outcome := range check.outcomes {
		response.Events = append(response.Events, &openintentv1.VerifiedEvent{
			Sequence:          outcome.sequence,
			EventHash:         outcome.hash,
			PreviousEventHash: optional.Text(outcome.previousHash),
			Verified:          outcome.verified,
		})
	}
	if n := len(check.outcomes); n > 0 && check.outcomes[n-1].sequence < check.last {
		cursor := pages.Cursor(verificationList, check.outcomes[n-1].sequence)
		response.NextCursor = &cursor
	}
	return response
}
