package message

// receivesByRole tells whether a message to the viewer's role reaches this viewer. A message that was sent after the viewer
// took the role does. An earlier one, or one of the same moment, does in two cases: it is a request that was still open
// when the viewer took the role and has not expired since, or the viewer has read or answered it itself. What earlier
// holders of the role said among themselves stays with them.
func (v Viewer) receivesByRole(m *Message) bool {
	since := v.Presence.RoleSinceIn(m.IntentNo)
	open := m.Type == TypeRequest && (m.Open || m.AnsweredAt.After(since)) && !m.Expired(v.Now)
	return m.CreatedAt.After(since) || open || m.ReadByViewer || m.AnsweredByViewer
}
