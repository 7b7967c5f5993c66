package database

import "openintent/internal/database/migrations"

// ownSessions is how this program names its sessions on PostgreSQL, unless the URL names them: with its release.
func ownSessions() string {
	releases := migrations.Current.Releases
	return "openintent " + releases[len(releases)-1].Name
}
