package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// drainedBytes and drainTime bound what is read of an answer's body, so that its connection can serve again.
	drainedBytes = 4 << 10
	drainTime    = time.Second
)

// Request is one post.
type Request struct {
	URL string
	// Secret signs it; as NewSecret makes them.
	Secret string
	// ID names what is posted, the same at each attempt; it holds no dot.
	ID string
	// Body makes what is posted, JSON, once there is a place for the post: what it tells may have changed while that was
	// waited for. Of nil nothing is posted.
	Body func(ctx context.Context) []byte
}

// Result is how a post went.
type Result struct {
	// Delivered is true after an answer of 200 to 299.
	Delivered bool
	// Status is the answer's; 0 when there was none.
	Status int
	// RetryAfter is how long the endpoint asked to be left alone, an hour at most; of a post that was held: how long it will
	// be. 0: not said.
	RetryAfter time.Duration
	// Gone is true when the endpoint says that it is no more (410).
	Gone bool
	// Held is true when no attempt was made, because the endpoint failed too often or the context ended.
	Held bool
	// Empty is true when no attempt was made, because there was nothing to post.
	Empty bool
	// Problem says in a public sentence why it was not delivered; empty when it was.
	Problem string
}

// Post posts once and returns when the answer's status is known, at most Config.Timeout after a place was free.
func (s *Sender) Post(ctx context.Context, request Request) Result {
	parsed, err := s.parse(request.URL)
	if err != nil {
		return Result{Problem: "The URL cannot be posted to: " + err.Error() + "."}
	}
	endpoint := s.endpoint(endpointOf(parsed))
	leave, entered := s.enter(ctx, endpoint)
	if !entered {
		return Result{Held: true, Problem: "The server stopped before the endpoint was free."}
	}
	defer leave()
	era, wait := endpoint.circuit.admit(s.now())
	if wait > 0 {
		return Result{Held: true, RetryAfter: wait, Problem: "The endpoint failed too often and is left alone for a while."}
	}
	how := undecided // also when something panics
	defer func() { endpoint.circuit.settle(era, how, s.now()) }()
	body := request.Body(ctx)
	if body == nil {
		return Result{Empty: true}
	}
	result, how := s.exchange(ctx, parsed, request, body)
	return result
}

// exchange sends the request and reads the answer's head.
func (s *Sender) exchange(ctx context.Context, to *url.URL, request Request, body []byte) (Result, outcome) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	at := s.now()
	signature, err := sign(request.Secret, request.ID, at, body)
	if err != nil {
		return Result{Problem: "The request could not be signed: " + err.Error() + "."}, undecided
	}
	post, err := http.NewRequestWithContext(limited, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return Result{Problem: "The URL cannot be posted to: " + errUnreadable.Error() + "."}, undecided
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("User-Agent", s.userAgent)
	post.Header.Set("Webhook-Id", request.ID)
	post.Header.Set("Webhook-Timestamp", timestamp(at))
	post.Header.Set("Webhook-Signature", signature)

	// The transport itself, and no client around it, follows no redirects.
	answer, err := s.transport.RoundTrip(post)
	if err != nil {
		if ctx.Err() != nil {
			return Result{Held: true, Problem: "The server stopped before the endpoint answered."}, undecided
		}
		return Result{Problem: problem(err)}, failed
	}
	defer answer.Body.Close()
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, answer.Body, drainedBytes) // the status has decided
	return s.judge(answer)
}

// judge turns an answer into a result, and into what it says about the endpoint: one that refuses a single post works.
func (s *Sender) judge(answer *http.Response) (Result, outcome) {
	result := Result{Status: answer.StatusCode}
	switch status := answer.StatusCode; {
	case status >= 200 && status <= 299:
		result.Delivered = true
		return result, succeeded
	case status >= 300 && status <= 399:
		result.Problem = fmt.Sprintf("The endpoint answered %d; redirects are not followed.", status)
		return result, succeeded
	case status == http.StatusGone:
		result.Gone = true
		result.Problem = "The endpoint answered 410: it is gone."
		return result, succeeded
	}
	result.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), s.now())
	result.Problem = fmt.Sprintf("The endpoint answered %d.", answer.StatusCode)
	if answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
		return result, failed
	}
	return result, succeeded
}

// problem says in public words why there was no answer. What the network said goes no further.
func problem(err error) string {
	var (
		resolution *net.DNSError
		network    net.Error
		operation  *net.OpError
	)
	switch {
	case errors.Is(err, errForbidden), errors.As(err, &resolution): // told apart, they would say which names exist inside
		return "The endpoint's name could not be resolved, or its address is private or reserved and not allowed here."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "The endpoint did not answer in time."
	case isCertificateProblem(err):
		return "The endpoint's TLS certificate could not be verified."
	case errors.As(err, &operation) && operation.Op == "dial":
		return "The connection to the endpoint could not be made."
	}
	return "The connection broke before the endpoint answered."
}

func isCertificateProblem(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}
