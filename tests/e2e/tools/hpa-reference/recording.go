package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"
)

// A recording of format 1: a header and ticks, in which what is not needed here is kept as it came.
type recording struct {
	header       header
	headerFields json.RawMessage
	ticks        []tick
}

type header struct {
	Format   string
	Name     string
	About    string
	Start    time.Time
	Settings settings
	HPA      autoscalingv2.HorizontalPodAutoscaler
}

type settings struct {
	SyncPeriod              float64
	Tolerance               float64
	DownscaleStabilization  float64
	CPUInitializationPeriod float64
	InitialReadinessDelay   float64
	FeatureGates            map[string]bool
}

const format = "hpa-recording/1"

var bubblesStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

type tick struct {
	T       int64
	HPASpec *autoscalingv2.HorizontalPodAutoscalerSpec
	Scale   scale
	Pods    map[string]*pod
	Metrics answers

	fields  map[string]json.RawMessage
	outcome outcome
}

type scale struct {
	Spec         *int32   `json:"spec,omitempty"`
	Status       *int32   `json:"status,omitempty"`
	Selector     string   `json:"selector"`
	Error        *string  `json:"error,omitempty"`
	UpdateErrors []string `json:"updateErrors,omitempty"`

	filled bool // by the world
}

type pod struct {
	Labels         map[string]string
	Phase          v1.PodPhase
	Start, Deleted *int64
	Ready          *struct {
		Status v1.ConditionStatus
		Since  int64
	}
	Containers, InitContainers []container
	PodRequests                v1.ResourceList
}

type container struct {
	Name          string
	Requests      v1.ResourceList
	RestartPolicy *v1.ContainerRestartPolicy
}

type answers struct {
	Resource *struct {
		Error *string
		Pods  map[string]struct {
			T      int64
			Window float64
			Usage  map[string]v1.ResourceList
		}
	}
	Pods map[string]struct {
		Error *string
		Pods  map[string]struct {
			T      int64
			Window *int64
			Value  resource.Quantity
		}
	}
	Object map[string]struct {
		Error *string
		T     int64
		Value resource.Quantity
	}
	External map[string]struct {
		Error  *string
		T      int64
		Values []resource.Quantity
	}
}

type outcome struct {
	ScaledTo     *int32                                      `json:"scaledTo"`
	Status       autoscalingv2.HorizontalPodAutoscalerStatus `json:"status"`
	StatusWrites int                                         `json:"statusWrites"`
	Events       [][2]string                                 `json:"events"`
}

func (r *recording) add(line []byte) error {
	if r.headerFields == nil {
		r.headerFields = append(r.headerFields, line...)
		return r.readHeader(line)
	}
	var added tick
	if err := strictly(line, &added); err != nil {
		return err
	}
	r.ticks = append(r.ticks, added)
	return json.Unmarshal(line, &r.ticks[len(r.ticks)-1].fields)
}

func (r *recording) readHeader(line []byte) error {
	r.header.Settings = settings{
		Tolerance: 0.1, DownscaleStabilization: 300, CPUInitializationPeriod: 300, InitialReadinessDelay: 30,
	}
	if err := strictly(line, &r.header); err != nil {
		return err
	}
	if r.header.Format != format {
		return fmt.Errorf("its format is %q, not %s", r.header.Format, format)
	}
	if !r.header.Start.Equal(bubblesStart) {
		return fmt.Errorf("it starts at %v, not at %v", r.header.Start, bubblesStart)
	}
	return nil
}

func strictly(line []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}

// gates are all that matter here, set as the recording says; those that it does not name are as they were at first.
func (r *recording) gates(first map[string]bool) (map[string]bool, error) {
	set := maps.Clone(first)
	for name, enabled := range r.header.Settings.FeatureGates {
		if _, matters := first[name]; !matters {
			return nil, fmt.Errorf("feature gate %s is none of those that matter", name)
		}
		set[name] = enabled
	}
	// This one depends on the other and is of no consequence here.
	set[string(features.InPlacePodLevelResourcesVerticalScaling)] = set[string(features.PodLevelResources)]
	return set, nil
}

func currentGates() map[string]bool {
	gates := map[string]bool{}
	for _, name := range []featuregate.Feature{
		features.HPAScaleToZero, features.HPAConfigurableTolerance, features.PodLevelResources,
	} {
		gates[string(name)] = utilfeature.DefaultFeatureGate.Enabled(name)
	}
	return gates
}

func (t *tick) fieldsWithOutcome() map[string]json.RawMessage {
	shown := t.outcome
	shown.Status = *shown.Status.DeepCopy()
	for index := range shown.Status.Conditions {
		shown.Status.Conditions[index].Message = ""
	}
	t.fields["outcome"] = encoded(shown)
	if t.Scale.filled {
		t.fields["scale"] = encoded(t.Scale)
	}
	return t.fields
}

func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing that is written here can fail
	}
	return text
}
