package keyturn

import (
	"container/list"
	"sync"
)

// mostAges are more turns than a process gets by raw calls and holds later.
const mostAges = 10_000

// ages remember how old turns are that raw calls gave, until they are settled, or [Client.Hold] asks. Of a turn that is
// forgotten, or that another process was given, the first renewal tells.
type ages struct {
	mu sync.Mutex
	of map[turnID]*list.Element
	// Of *TurnInfo. Turns that are settled take no room: they would push out those that live.
	oldest list.List
}

func (a *ages) note(info *TurnInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[turnID]*list.Element{}
	}
	own := *info
	if known := a.of[info.id()]; known != nil {
		known.Value = &own
		return
	}
	a.of[info.id()] = a.oldest.PushBack(&own)
	if len(a.of) > mostAges {
		a.forget(a.oldest.Front())
	}
}

// known is what is known of it.
func (a *ages) known(id turnID) (TurnInfo, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.of[id]; at != nil {
		return *at.Value.(*TurnInfo), true
	}
	return TurnInfo{}, false
}

// over: the turn is settled, or was tried to be.
func (a *ages) over(id turnID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.of[id]; at != nil {
		a.forget(at)
	}
}

func (a *ages) forget(at *list.Element) {
	delete(a.of, a.oldest.Remove(at).(*TurnInfo).id())
}
