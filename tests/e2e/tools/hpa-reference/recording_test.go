package reference

import (
	"encoding/json"
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
	Name     string
	Start    time.Time
	Settings struct {
		Tolerance               float64
		DownscaleStabilization  float64
		CPUInitializationPeriod float64 `json:"cpuInitializationPeriod"`
		InitialReadinessDelay   float64
		FeatureGates            map[string]bool
	}
	HPA autoscalingv2.HorizontalPodAutoscaler
}

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
	Spec, Status int32
	Selector     string
	Error        *string
	UpdateErrors []string
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
		return json.Unmarshal(line, &r.header)
	}
	var added tick
	if err := json.Unmarshal(line, &added); err != nil {
		return err
	}
	r.ticks = append(r.ticks, added)
	return json.Unmarshal(line, &r.ticks[len(r.ticks)-1].fields)
}

// gates are all that matter here, set as the recording says; those that it does not name are as they were at first.
func (r *recording) gates(first map[string]bool) map[string]bool {
	set := make(map[string]bool, len(first)+1)
	for name, enabled := range first {
		set[name] = enabled
	}
	for name, enabled := range r.header.Settings.FeatureGates {
		set[name] = enabled
	}
	// This one depends on the other and is of no consequence here.
	set[string(features.InPlacePodLevelResourcesVerticalScaling)] = set[string(features.PodLevelResources)]
	return set
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
	encoded, err := json.Marshal(shown)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	t.fields["outcome"] = encoded
	return t.fields
}
