package reference

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	customapi "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalapi "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	customclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalclient "k8s.io/metrics/pkg/client/external_metrics"
)

var errNotListed = errors.New("the recording has no answer for this metric")

// The three metrics APIs answer with what the tick has, pods and containers in the order of their names.

type podMetrics struct {
	resourceclient.PodMetricsInterface
	*world
}

func (w *world) PodMetricses(string) resourceclient.PodMetricsInterface { return podMetrics{world: w} }

func (p podMetrics) List(context.Context, metav1.ListOptions) (*metricsapi.PodMetricsList, error) {
	list := &metricsapi.PodMetricsList{}
	answer := p.tick.Metrics.Resource
	if answer == nil {
		return list, nil
	}
	if answer.Error != nil {
		return nil, errors.New(*answer.Error)
	}
	for _, name := range slices.Sorted(maps.Keys(answer.Pods)) {
		sample := answer.Pods[name]
		item := metricsapi.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Timestamp:  p.at(sample.T),
			Window:     metav1.Duration{Duration: seconds(sample.Window)},
		}
		for _, named := range slices.Sorted(maps.Keys(sample.Usage)) {
			item.Containers = append(
				item.Containers, metricsapi.ContainerMetrics{Name: named, Usage: sample.Usage[named]},
			)
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

type customMetrics struct{ *world }

func (c customMetrics) RootScopedMetrics() customclient.MetricsInterface       { return c }
func (c customMetrics) NamespacedMetrics(string) customclient.MetricsInterface { return c }

func (c customMetrics) GetForObject(
	kind schema.GroupKind, name string, metric string, _ labels.Selector,
) (*customapi.MetricValue, error) {
	answer, listed := c.tick.Metrics.Object[kind.Kind+"/"+name+"/"+metric]
	if !listed {
		return nil, errNotListed
	}
	if answer.Error != nil {
		return nil, errors.New(*answer.Error)
	}
	return &customapi.MetricValue{Timestamp: c.at(answer.T), Value: answer.Value}, nil
}

func (c customMetrics) GetForObjects(
	_ schema.GroupKind, _ labels.Selector, metric string, _ labels.Selector,
) (*customapi.MetricValueList, error) {
	answer, listed := c.tick.Metrics.Pods[metric]
	if !listed {
		return nil, errNotListed
	}
	if answer.Error != nil {
		return nil, errors.New(*answer.Error)
	}
	list := &customapi.MetricValueList{}
	for _, name := range slices.Sorted(maps.Keys(answer.Pods)) {
		sample := answer.Pods[name]
		list.Items = append(list.Items, customapi.MetricValue{
			DescribedObject: v1.ObjectReference{Name: name},
			Timestamp:       c.at(sample.T),
			WindowSeconds:   sample.Window,
			Value:           sample.Value,
		})
	}
	return list, nil
}

type externalMetrics struct{ *world }

func (e externalMetrics) NamespacedMetrics(string) externalclient.MetricsInterface { return e }

func (e externalMetrics) List(metric string, _ labels.Selector) (*externalapi.ExternalMetricValueList, error) {
	answer, listed := e.tick.Metrics.External[metric]
	if !listed {
		return nil, errNotListed
	}
	if answer.Error != nil {
		return nil, errors.New(*answer.Error)
	}
	list := &externalapi.ExternalMetricValueList{}
	for _, value := range answer.Values {
		list.Items = append(
			list.Items, externalapi.ExternalMetricValue{MetricName: metric, Timestamp: e.at(answer.T), Value: value},
		)
	}
	return list, nil
}
