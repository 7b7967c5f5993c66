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
	// drainedBytes and drainTime bound how much of an answer's body Post reads, so that it can use the connection again.
	drainedBytes = 4 << 10
	drainTime    = time.Second
)

// Request is one post.
type Request struct {
	URL string
	// Secret signs the post. It has the form of a secret from NewSecret.
	Secret string
	// ID identifies the post's content, with the same value for each attempt; it contains no dot.
	ID string
	// Header, unless it is nil, are the headers of a post that is not JSON and not signed, so that it needs no Secret. They replace all
	// others but the user agent. Post reads it after Body, which may still change it.
	Header http.Header
	// Body makes the JSON to post once there is a place for the post, because its content may have changed during the wait. If
	// it returns nil, nothing is posted.
	Body func(ctx context.Context) []byte
	// Traceparent returns the header traceparent of the post, or "" for none. Post calls it after Body; nil is for none.
	Traceparent func() string
}

// Result is how a post went.
type Result struct {
	// Delivered is true after an answer of 200 to 299.
	Delivered bool
	// Status is the answer's status; 0 if there was no answer.
	Status int
	// RetryAfter is how long the endpoint asked us to wait, an hour at most. For a post that was put off because the endpoint
	// failed, it is how long the circuit stays open. 0 means that it is unknown.
	RetryAfter time.Duration
	// Gone is true if the endpoint answered that it no longer exists (410).
	Gone bool
	// PutOff is true if the endpoint failed too often, so that no attempt was made, or if the context ended before an answer.
	PutOff bool
	// Empty is true if no attempt was made because there was nothing to post.
	Empty bool
	// Problem says in a public sentence why the request was not delivered; it is empty if it was.
	Problem string
}

// Post posts once. It returns when it knows the answer's status, at most Config.Timeout after a place was free.
func (s *Sender) Post(ctx context.Context, request Request) Result {
	parsed, err := s.parse(request.URL)
	if err != nil {
		return Result{Problem: "The URL cannot be posted to: " + err.Error() + "."}
	}
	endpoint := s.endpoint(endpointOf(parsed))
	leave, entered := s.enter(ctx, endpoint)
	if !entered {
		return Result{PutOff: true, Problem: "The server stopped before the endpoint was free."}
	}
	defer leave()
	era, wait := endpoint.circuit.admit(s.now())
	if wait > 0 {
		return Result{PutOff: true, RetryAfter: wait, Problem: "The endpoint failed too often and is left alone for a while."}
	}
	how := undecided // stays so if something panics
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
	post, err := http.NewRequestWithContext(limited, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return Result{Problem: "The URL cannot be posted to: " + errUnreadable.Error() + "."}, undecided
	}
	if post.Header, err = s.headers(request, body); err != nil {
		return Result{Problem: "The request could not be signed: " + err.Error() + "."}, undecided
	}

	// A bare transport, without a client around it, follows no redirects.
	answer, err := s.transport.RoundTrip(post)
	if err != nil {
		if ctx.Err() != nil {
			return Result{PutOff: true, Problem: "The server stopped before the endpoint answered."}, undecided
		}
		return Result{Problem: problem(err)}, failed
	}
	defer answer.Body.Close()
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, answer.Body, drainedBytes) // an error does not matter, because the status decides
	return s.judge(answer)
}

// headers returns the headers of a post.
func (s *Sender) headers(request Request, body []byte) (http.Header, error) {
	if request.Header != nil {
		headers := request.Header.Clone()
		headers.Set("User-Agent", s.userAgent)
		return headers, nil
	}
	at := s.now()
	signature, err := sign(request.Secret, request.ID, at, body)
	if err != nil {
		return nil, err
	}
	headers := make(http.Header)
	headers.Set("Content-Type", "application/json")
	headers.Set("User-Agent", s.userAgent)
	headers.Set("Webhook-Id", request.ID)
	headers.Set("Webhook-Timestamp", timestamp(at))
	headers.Set("Webhook-Signature", signature)
	if request.Traceparent != nil && request.Traceparent() != "" {
		headers.Set("Traceparent", request.Traceparent())
	}
	return headers, nil
}

// judge turns an answer into a result and an outcome for the circuit. An endpoint that refuses a single post still works.
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

// problem says in public words why there was no answer. It does not repeat the text of the network's error.
func problem(err error) string {
	var (
		resolution *net.DNSError
		network    net.Error
		operation  *net.OpError
	)
	switch {
	case errors.Is(err, errForbidden), errors.As(err, &resolution): // two sentences would reveal which internal names exist
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
