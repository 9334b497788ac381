package reference

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalinginformers "k8s.io/client-go/informers/autoscaling/v2"
	informers "k8s.io/client-go/informers/core/v1"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
)

// A world is all that a controller sees and writes. It needs no lock: the controller's goroutine has it while it syncs,
// the broadcaster's appends events and nothing else, and the one that plays waits until both are done.
type world struct {
	start      time.Time
	autoscaler *autoscalingv2.HorizontalPodAutoscaler
	pods       map[string]*v1.Pod
	handler    cache.ResourceEventHandler

	ticks chan *tick
	over  <-chan struct{}

	tick        *tick // of the sync that goes on; nil between syncs
	scaleWrites int
	outcome     outcome
	events      [][2]string
	replicas    int32 // of the target, after the last sync
}

func newWorld(recorded header) *world {
	return &world{
		start:      recorded.Start,
		autoscaler: recorded.HPA.DeepCopy(),
		pods:       map[string]*v1.Pod{},
		ticks:      make(chan *tick),
	}
}

// prepare changes what the controller reads from caches, before the sync that waits for the tick looks at it.
func (w *world) prepare(next *tick) {
	if next.HPASpec != nil {
		w.autoscaler = w.autoscaler.DeepCopy()
		w.autoscaler.Spec = *next.HPASpec
	}
	for name, changed := range next.Pods {
		if changed == nil {
			delete(w.pods, name)
		} else {
			w.pods[name] = w.pod(name, changed)
		}
	}
	if next.Scale.Error == nil {
		w.follow(&next.Scale)
	}
}

// follow fills in what a scale does not say: the target is as the last sync has left it, and all of its pods are there.
func (w *world) follow(next *scale) {
	next.filled = next.Spec == nil || next.Status == nil
	if next.Spec == nil {
		left := w.replicas
		next.Spec = &left
	}
	if next.Status == nil {
		next.Status = next.Spec
	}
	w.replicas = *next.Spec
}

// settle ends the sync and gives what came of it.
func (w *world) settle() outcome {
	settled := w.outcome
	settled.Status = *w.autoscaler.Status.DeepCopy()
	settled.Events = append([][2]string{}, w.events...)
	if settled.ScaledTo != nil {
		w.replicas = *settled.ScaledTo
	}
	w.tick, w.outcome, w.events, w.scaleWrites = nil, outcome{}, nil, 0
	return settled
}

func (w *world) at(t int64) metav1.Time {
	return metav1.NewTime(w.start.Add(time.Duration(t) * time.Second))
}

func (w *world) pod(name string, recorded *pod) *v1.Pod {
	made := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.autoscaler.Namespace, Name: name, Labels: recorded.Labels}}
	if made.Labels == nil {
		made.Labels = map[string]string{"app": "web"}
	}
	made.Status.Phase = recorded.Phase
	if recorded.Start != nil {
		started := w.at(*recorded.Start)
		made.Status.StartTime = &started
	}
	if recorded.Deleted != nil {
		deleted := w.at(*recorded.Deleted)
		made.DeletionTimestamp = &deleted
	}
	if ready := recorded.Ready; ready != nil {
		made.Status.Conditions = []v1.PodCondition{
			{Type: v1.PodReady, Status: ready.Status, LastTransitionTime: w.at(ready.Since)},
		}
	}
	made.Spec.Containers = containers(recorded.Containers)
	made.Spec.InitContainers = containers(recorded.InitContainers)
	if recorded.PodRequests != nil {
		made.Spec.Resources = &v1.ResourceRequirements{Requests: recorded.PodRequests}
	}
	return made
}

func containers(recorded []container) []v1.Container {
	var made []v1.Container
	for _, one := range recorded {
		made = append(made, v1.Container{
			Name:          one.Name,
			Resources:     v1.ResourceRequirements{Requests: one.Requests},
			RestartPolicy: one.RestartPolicy,
		})
	}
	return made
}

// Scales: the first read of a sync waits for its tick, so that the sync happens at that moment.

type scales struct {
	scaleclient.ScaleInterface
	*world
}

func (w *world) Scales(string) scaleclient.ScaleInterface { return scales{world: w} }

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if s.tick == nil {
		select {
		case s.tick = <-s.ticks:
		case <-s.over:
			return nil, errors.New("the recording is over")
		}
	}
	read := s.tick.Scale
	if read.Error != nil {
		return nil, errors.New(*read.Error)
	}
	return &autoscalingv1.Scale{
		Spec:   autoscalingv1.ScaleSpec{Replicas: *read.Spec},
		Status: autoscalingv1.ScaleStatus{Replicas: *read.Status, Selector: read.Selector},
	}, nil
}

func (s scales) Update(
	_ context.Context, resource schema.GroupResource, written *autoscalingv1.Scale, _ metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	attempt := s.scaleWrites
	s.scaleWrites++
	if answers := s.tick.Scale.UpdateErrors; attempt < len(answers) {
		if answers[attempt] == "conflict" {
			return nil, apierrors.NewConflict(resource, "web", errors.New("it has been changed"))
		}
		return nil, apierrors.NewInternalError(errors.New(answers[attempt]))
	}
	replicas := written.Spec.Replicas
	s.outcome.ScaledTo = &replicas
	return written, nil
}

type mapper struct{ meta.RESTMapper }

func (mapper) RESTMappings(kind schema.GroupKind, _ ...string) ([]*meta.RESTMapping, error) {
	plural := strings.ToLower(kind.Kind) + "s"
	return []*meta.RESTMapping{{Resource: schema.GroupVersionResource{Group: kind.Group, Version: "v1", Resource: plural}}}, nil
}

// Autoscalers.

type autoscalers struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
	*world
}

func (w *world) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return autoscalers{world: w}
}

func (a autoscalers) UpdateStatus(
	_ context.Context, written *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	a.outcome.StatusWrites++
	stored := a.autoscaler.DeepCopy()
	stored.Status = *written.Status.DeepCopy()
	a.autoscaler = stored
	return stored, nil
}

// Caches: informers that need no server, and listers that give what the world has, pods in the order of their names.

type synced struct {
	cache.SharedIndexInformer
	*world
}

func (synced) HasSynced() bool { return true }

func (s synced) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, _ time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	s.handler = handler
	return nil, nil
}

type autoscalerInformer struct {
	autoscalinginformers.HorizontalPodAutoscalerInformer
	*world
}

func (i autoscalerInformer) Informer() cache.SharedIndexInformer { return synced{world: i.world} }

func (i autoscalerInformer) Lister() autoscalinglisters.HorizontalPodAutoscalerLister {
	return autoscalerLister{world: i.world}
}

type autoscalerLister struct {
	autoscalinglisters.HorizontalPodAutoscalerLister
	world *world
}

func (l autoscalerLister) HorizontalPodAutoscalers(string) autoscalinglisters.HorizontalPodAutoscalerNamespaceLister {
	return namespacedAutoscalers{world: l.world}
}

type namespacedAutoscalers struct {
	autoscalinglisters.HorizontalPodAutoscalerNamespaceLister
	world *world
}

func (l namespacedAutoscalers) Get(string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return l.world.autoscaler, nil
}

type podInformer struct {
	informers.PodInformer
	*world
}

func (i podInformer) Informer() cache.SharedIndexInformer { return synced{world: i.world} }
func (i podInformer) Lister() corelisters.PodLister       { return podLister{world: i.world} }

type podLister struct {
	corelisters.PodLister
	world *world
}

func (l podLister) Pods(string) corelisters.PodNamespaceLister { return namespacedPods{world: l.world} }

type namespacedPods struct {
	corelisters.PodNamespaceLister
	world *world
}

func (l namespacedPods) List(selector labels.Selector) ([]*v1.Pod, error) {
	var found []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(l.world.pods)) {
		if selector.Matches(labels.Set(l.world.pods[name].Labels)) {
			found = append(found, l.world.pods[name])
		}
	}
	return found, nil
}
