package httpapi

import (
	"context"
	"slices"
	"sync"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/logkey"
)

// hearings are the launches heard of that the loop has not been told of yet: each once, however often it called, so there
// are at most as many as tasks. A poll notes one and goes on, so that it is answered even while nothing can be stored.
type hearings struct {
	mu      sync.Mutex
	waiting map[string]struct{}
	wake    chan struct{} // has room for one
}

func (h *hearings) note(taskID string) {
	h.mu.Lock()
	h.waiting[taskID] = struct{}{}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // is awake already
	}
}

// take returns the task_ids that wait, in order, and forgets them.
func (h *hearings) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for id := range h.waiting {
		ids = append(ids, id)
	}
	clear(h.waiting)
	slices.Sort(ids)
	return ids
}

// forwardHearings tells the loop until ctx ends. One that cannot be stored is dropped: the next poll brings another.
func (s *Server) forwardHearings(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hearings.wake:
		}
		for _, id := range s.hearings.take() {
			if err := s.submit(ctx, cluster.Heard{TaskID: id}); err != nil && ctx.Err() == nil {
				s.logger.Debug("heartbeat not stored", logkey.TaskID, id)
			}
		}
	}
}
