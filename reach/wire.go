package reach

import (
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// ToWire returns the reach as the contract shows it.
func (r *Reach) ToWire() *openintentv1.Reach {
	made := &openintentv1.Reach{
		AgentId: r.Agent, Level: wireLevels[r.Level()], LastHeardAt: optional.Time(r.Heard), LastOfferedAt: optional.Time(r.Offered),
		LastSurfacedAt: optional.Time(r.Surfaced), SurfacesInMs: r.SurfacesIn,
	}
	for _, path := range r.Paths {
		made.Paths = append(made.Paths, &openintentv1.ReachPath{
			Kind: string(path.Kind), Since: optional.Time(path.Since), ProvenAt: optional.Time(path.Proven),
		})
	}
	return made
}

var wireLevels = map[Level]openintentv1.ReachLevel{
	Unknown:  openintentv1.ReachLevel_REACH_LEVEL_UNKNOWN,
	None:     openintentv1.ReachLevel_REACH_LEVEL_NONE,
	Wakeable: openintentv1.ReachLevel_REACH_LEVEL_WAKEABLE,
	Live:     openintentv1.ReachLevel_REACH_LEVEL_LIVE,
}
