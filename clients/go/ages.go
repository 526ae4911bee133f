package keyturn

import "sync"

// mostAges are more turns than a process gets by raw calls and holds later.
const mostAges = 10_000

// ages remember how old turns are that raw calls gave, until [Client.Hold] asks. Of a turn that is forgotten, or that another
// process was given, the first renewal tells.
type ages struct {
	mu     sync.Mutex
	of     map[turnID]TurnInfo
	oldest []turnID
}

func (a *ages) note(info *TurnInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[turnID]TurnInfo{}
	}
	if _, again := a.of[info.id()]; !again {
		a.oldest = append(a.oldest, info.id())
	}
	a.of[info.id()] = *info
	if len(a.oldest) > mostAges {
		delete(a.of, a.oldest[0])
		a.oldest = a.oldest[1:]
	}
}

// known is what is known of it.
func (a *ages) known(id turnID) (TurnInfo, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, known := a.of[id]
	return info, known
}

// over: the turn is settled, or was tried to be.
func (a *ages) over(id turnID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, id)
}
