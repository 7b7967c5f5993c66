// Package posting posts deliveries to webhooks.
//
// # Model
//
// Each replica's poster examines the subscriptions whose deliveries are posted (poster.go). It examines one when a wake-up
// announces something new and when a post is due, and otherwise only rarely. A subscription with due deliveries
// waits in the queue of its endpoint. A dispatch acquires the lease, posts the deliveries, and stores which of them were
// delivered (dispatch.go, outcomes.go). It posts the deliveries of one channel one after the other, and those of several channels
// simultaneously. A failed post is due again after a pause that grows with each attempt. It becomes a dead letter after the last attempt,
// or when the endpoint answers that it is gone. While the endpoint's circuit is open, nothing is posted.
//
//	wake-ups, schedule ──> examine: gather, find what is due
//	                                   └──> queue of the endpoint ──> dispatch: acquire, post, store, release
//
// The poster keeps the subscriptions that it must examine at a certain time in a queue (package schedule). So a
// wake-up costs work only for the subscriptions that it concerns, however many others rest. Each time the slow timer fires, the
// poster looks in the database for subscriptions that other replicas created and for posts that dead replicas left (discovery.go).
//
// # What holds
//
//   - Posts keep their order within a channel, and within an intent's logged events. A delivery is posted only after everything
//     ahead of it was delivered, or was given up or skipped and that outcome is stored (order.go). A delivery is posted
//     under the same id each time.
//   - No post begins while the subscription is paused, or once another replica can have taken the lease.
//   - An attempt to post counts when the post has failed. A delivery that cannot be made ready for its post counts that as a failed attempt.
//
// # Failure
//
// A crash between posting and storing the outcome repeats some posts, in order and under the same ids. While the database is unavailable,
// posts wait.
//
// A poster whose process stood still may have lost its lease, and notices that before its next post. But it cannot call back a
// post that it has already begun, at most one in each channel. That post arrives when the process runs again, after what
// another replica has posted since. It is a repetition, unless the other replica skipped that delivery because the subscriber
// could not see it at that time. A post can arrive late in the same way when its endpoint did not answer in time.
package posting
