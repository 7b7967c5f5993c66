package messaging

import "openintent/messaging/wake"

// WatchReplicas calls a function when another replica begins to work on the database, or may have. All other wake-ups wait for
// the function, so it must not block. Without notifications between the replicas it is never called. Call stop when done.
func (s *Service) WatchReplicas(began func()) (stop func()) {
	return s.hub.ListenCalling(began, wake.ReplicaTopic{}).Close
}
