package keyturn

// turnID finds a turn: tokens are unique in a queue.
type turnID struct {
	queue string
	token uint64
}

func (r TurnRef) id() turnID { return turnID{r.Queue, r.Token} }

// orphans are turns of the session that nobody here holds: their answers were lost with a stream. Each is given back, but
// not while an open call with a ticket may still be answered with it.
type orphans struct {
	groups    map[place]*claimGroup
	claimants map[*command][]place
	turns     map[turnID]*orphan
	giveBack  func(TurnRef)
}

// place is a key of a queue, or (any) any key of it.
type place struct {
	queue string
	key   string
	any   bool
}

type claimGroup struct {
	claimants int
	orphans   map[*orphan]struct{}
}

type orphan struct {
	ref TurnRef
	// How many of its groups still have claimants.
	blockers int
}

// newOrphans is nil when none is left to wait for.
func newOrphans(turns []TurnRef, open []*command, giveBack func(TurnRef)) *orphans {
	o := noOrphans(giveBack)
	for _, c := range open {
		o.addClaimant(c)
	}
	for _, ref := range turns {
		o.addOrphan(ref)
	}
	if o.isEmpty() {
		return nil
	}
	return o
}

func noOrphans(giveBack func(TurnRef)) *orphans {
	return &orphans{groups: map[place]*claimGroup{}, claimants: map[*command][]place{}, turns: map[turnID]*orphan{}, giveBack: giveBack}
}

// add is one more, of which a notice told; open are the calls that may be answered with it now.
func (o *orphans) add(ref TurnRef, open []*command) {
	for _, c := range open {
		if o.claimants[c] == nil {
			o.addClaimant(c)
		}
	}
	if o.turns[ref.id()] == nil {
		o.addOrphan(ref)
	}
}

func (o *orphans) isEmpty() bool { return o == nil || len(o.turns) == 0 }

func (o *orphans) addClaimant(c *command) {
	queues, key := c.claims()
	for _, queue := range queues {
		at := place{queue: queue, key: key, any: key == ""}
		o.claimants[c] = append(o.claimants[c], at)
		if o.groups[at] == nil {
			o.groups[at] = &claimGroup{orphans: map[*orphan]struct{}{}}
		}
		o.groups[at].claimants++
	}
}

func placesOf(ref TurnRef) [2]place {
	return [2]place{{queue: ref.Queue, any: true}, {queue: ref.Queue, key: ref.Key}}
}

func (o *orphans) addOrphan(ref TurnRef) {
	one := &orphan{ref: ref}
	for _, at := range placesOf(ref) {
		if group := o.groups[at]; group != nil {
			one.blockers++
			group.orphans[one] = struct{}{}
		}
	}
	if one.blockers == 0 {
		o.giveBack(ref)
		return
	}
	o.turns[ref.id()] = one
}

// claimed: somebody learnt of it after all.
func (o *orphans) claimed(ref TurnRef) {
	if o == nil {
		return
	}
	one := o.turns[ref.id()]
	if one == nil {
		return
	}
	delete(o.turns, ref.id())
	for _, at := range placesOf(one.ref) {
		if group := o.groups[at]; group != nil {
			delete(group.orphans, one)
		}
	}
}

// done: the command is answered, or given up before it was sent. It claims nothing any more.
func (o *orphans) done(c *command) {
	for _, at := range o.claimants[c] {
		group := o.groups[at]
		group.claimants--
		if group.claimants > 0 {
			continue
		}
		delete(o.groups, at)
		for one := range group.orphans {
			one.blockers--
			if one.blockers == 0 {
				delete(o.turns, one.ref.id())
				o.giveBack(one.ref)
			}
		}
	}
	delete(o.claimants, c)
}
