package record

import "encoding/json"

// Sources are the places for which one delivery stands, oldest first.
type Sources struct {
	Digest bool `json:"digest,omitempty"`
	// Places are intents and positions.
	Places [][2]int64 `json:"places"`
}

// stored returns the sources as the database keeps them.
func (s *Sources) stored() string {
	text, _ := json.Marshal(s) // numbers always have a JSON form
	return string(text)
}

// sourcesFrom reads what stored returned, and returns nil for a delivery of one place.
func sourcesFrom(stored string) (*Sources, error) {
	if stored == "" {
		return nil, nil
	}
	s := new(Sources)
	return s, json.Unmarshal([]byte(stored), s)
}
