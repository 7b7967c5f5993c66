package writing

// A batch stores the messages of many keys, so its transaction is on nobody's account. Each key pays for what its own drafts added.

// charge lets the draft's caller pay for the rows that it added, if it added any. A message that was stored before costs nothing.
func (d *Draft) charge(out Outcome) {
	account := d.By.Account
	if account == nil || out.Err != nil || out.replayed {
		return
	}
	m, content := out.Message, int64(d.contentBytes())
	rows, bytes := int64(1), content+int64(len(m.ID)+len(m.Sender)+len(m.Target)+len(m.CorrelationID))
	if d.Key != "" {
		rows, bytes = rows+1, bytes+int64(len(d.Key)+len(d.fingerprint))
	}
	if m.Open {
		rows++
	}
	if m.Obliges() {
		rows++
	}
	if d.publishes() {
		rows++
	}
	if d.audited {
		rows, bytes = rows+1, bytes+content
	}
	if d.creates {
		rows, bytes = rows+2, bytes+int64(len(d.Name)) // the channel and its head
	}
	account.Charge(rows, bytes)
}
