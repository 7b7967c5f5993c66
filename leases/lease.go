package leases

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// Lease is an agent's hold of a scope that has not been ended yet.
type Lease struct {
	IntentNo   int64
	Scope      string
	ID         string
	AgentID    string
	Fence      int64
	AcquiredAt time.Time
	// ExpiresAt is when the lease ends by time; zero while the intent is suspended.
	ExpiresAt time.Time
	// RenewedAt is when the holder was last heard of in the lease: its grant or its last renewal.
	RenewedAt time.Time
	// Left is what remains of the lease's time while the intent is suspended.
	Left time.Duration
	// DueAt is when the passing of time alone may end the lease, and Epoch that of the intent when somebody last judged the
	// holder's access. By these the sweep finds what it has to judge.
	DueAt time.Time
	Epoch int64
}

// row is a lease as the table stores it: times are in microseconds, and absent values are NULL.
type row struct {
	IntentNo   int64  `gorm:"primaryKey;autoIncrement:false"`
	Scope      string `gorm:"primaryKey"`
	ID         string
	AgentID    string
	Fence      int64
	AcquiredAt int64
	ExpiresAt  *int64
	LeftOver   *int64
	DueAt      int64
	Epoch      int64
	RenewedAt  *int64
}

// TableName is for gorm.
func (row) TableName() string { return "leases" }

func (r *row) lease() *Lease {
	l := &Lease{
		IntentNo: r.IntentNo, Scope: r.Scope, ID: r.ID, AgentID: r.AgentID, Fence: r.Fence,
		AcquiredAt: database.Time(r.AcquiredAt), DueAt: database.Time(r.DueAt), Epoch: r.Epoch,
	}
	if r.ExpiresAt != nil {
		l.ExpiresAt = database.Time(*r.ExpiresAt)
	}
	if l.RenewedAt = l.AcquiredAt; r.RenewedAt != nil {
		l.RenewedAt = database.Time(*r.RenewedAt)
	}
	if r.LeftOver != nil {
		l.Left = time.Duration(*r.LeftOver) * time.Microsecond
	}
	return l
}

func rowOf(l *Lease) *row {
	r := &row{
		IntentNo: l.IntentNo, Scope: l.Scope, ID: l.ID, AgentID: l.AgentID, Fence: l.Fence,
		AcquiredAt: database.Micros(l.AcquiredAt), ExpiresAt: database.NullMicros(l.ExpiresAt),
		DueAt: database.Micros(l.DueAt), Epoch: l.Epoch, RenewedAt: database.NullMicros(l.RenewedAt),
	}
	if l.ExpiresAt.IsZero() {
		left := l.Left.Microseconds()
		r.LeftOver = &left
	}
	return r
}

// shownEnd returns when the lease ends by time, as clients see it: while the intent is suspended, when it would end if the intent went on
// now.
func (l *Lease) shownEnd(now time.Time) time.Time {
	if l.ExpiresAt.IsZero() {
		return now.Add(l.Left)
	}
	return l.ExpiresAt
}

// message returns a lease as clients see it at a time of its intent.
func message(intentID string, l *Lease, now time.Time) *openintentv1.Lease {
	return &openintentv1.Lease{
		Id: l.ID, IntentId: intentID, AgentId: l.AgentID, Scope: l.Scope, Fence: l.Fence,
		Status: openintentv1.LeaseStatus_LEASE_STATUS_ACTIVE, AcquiredAt: timestamppb.New(l.AcquiredAt),
		ExpiresAt: timestamppb.New(l.shownEnd(now)),
	}
}
