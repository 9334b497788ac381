package reference

import (
	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Events are taken from where the broadcaster logs them: what reaches its sink has been aggregated and limited.
type eventLog struct{ world *world }

func (*eventLog) Init(logr.RuntimeInfo) {}
func (*eventLog) Enabled(int) bool      { return true }

func (l *eventLog) Info(_ int, message string, keysAndValues ...any) {
	if message != "Event occurred" {
		return
	}
	var told [2]string
	for index := 0; index+1 < len(keysAndValues); index += 2 {
		switch keysAndValues[index] {
		case "type":
			told[0], _ = keysAndValues[index+1].(string)
		case "reason":
			told[1], _ = keysAndValues[index+1].(string)
		}
	}
	l.world.events = append(l.world.events, told)
}

func (*eventLog) Error(error, string, ...any)      {}
func (l *eventLog) WithValues(...any) logr.LogSink { return l }
func (l *eventLog) WithName(string) logr.LogSink   { return l }

type eventSink struct{ v1core.EventInterface }

func (s eventSink) Events(string) v1core.EventInterface { return s }

func (eventSink) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) {
	return event, nil
}

func (eventSink) PatchWithEventNamespace(event *v1.Event, _ []byte) (*v1.Event, error) {
	return event, nil
}
