package reference

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
)

var (
	manifests  = flag.String("manifests", "", "a file of HorizontalPodAutoscalers, one in each line")
	admissions = flag.String("admissions", "", "the file to write what becomes of each of them to, in one line, too")
)

// What the API server makes of a manifest: why it cannot be decoded, or what is wrong with it, as path and kind, or the
// autoscaling/v2 object.
type admission struct {
	Refused string          `json:"refused,omitempty"`
	Errors  [][2]string     `json:"errors,omitempty"`
	Stored  json.RawMessage `json:"stored,omitempty"`
}

var (
	anyVersion = legacyscheme.Codecs.UniversalDecoder(autoscaling.SchemeGroupVersion)
	v2         = legacyscheme.Codecs.LegacyCodec(schema.GroupVersion{Group: autoscaling.GroupName, Version: "v2"})
)

func TestAdmission(t *testing.T) {
	answerLines(t, *manifests, *admissions, func(line []byte) (any, error) { return admit(line) })
}

// admit decodes, defaults and validates as for a POST to the namespace that the manifest is of.
func admit(manifest []byte) (admission, error) {
	object, _, err := anyVersion.Decode(manifest, nil, nil)
	if err != nil {
		return admission{Refused: err.Error()}, nil
	}
	autoscaler, is := object.(*autoscaling.HorizontalPodAutoscaler)
	if !is {
		return admission{Refused: "of another kind"}, nil
	}
	name, namespace := autoscaler.Name, autoscaler.Namespace
	rest.FillObjectMetaSystemFields(autoscaler)
	if autoscaler.Namespace == "" {
		autoscaler.Namespace = "default"
	}
	if autoscaler.Name == "" && autoscaler.GenerateName != "" {
		autoscaler.Name = horizontalpodautoscaler.Strategy.GenerateName(autoscaler.GenerateName)
	}
	ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{APIGroup: autoscaling.GroupName, APIVersion: "v2"})
	ctx = request.WithNamespace(ctx, autoscaler.Namespace)
	if err := rest.BeforeCreate(horizontalpodautoscaler.Strategy, ctx, autoscaler); err != nil {
		var invalid apierrors.APIStatus
		if !errors.As(err, &invalid) || !apierrors.IsInvalid(err) {
			return admission{}, err
		}
		var found admission
		for _, cause := range invalid.Status().Details.Causes {
			found.Errors = append(found.Errors, [2]string{cause.Field, string(cause.Type)})
		}
		return found, nil
	}
	// What the request and the server add is not the manifest's.
	autoscaler.Name, autoscaler.Namespace = name, namespace
	autoscaler.UID, autoscaler.CreationTimestamp = "", metav1.Time{}
	stored, err := runtime.Encode(v2, autoscaler)
	return admission{Stored: stored}, err
}
