// Package reference runs code of Kubernetes itself: its HPA controller, in virtual time, for recordings
// (docs/recording-format.md) that have no outcomes yet, and the API server's admission, for manifests.
//
//	hpa-reference -test.run=TestDecisions -worlds FOLDER -recordings FOLDER
//	hpa-reference -test.run=TestAdmission -manifests FILE -admissions FILE
//
// It is a test binary because the bubbles of testing/synctest, whose clock stands still until everybody waits, are only
// for tests. Recordings start when bubbles do, at 2000-01-01T00:00:00Z, and have at least a second before each sync. A
// tick whose scale has no spec has the one that the sync before has left.
package reference

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

const (
	// How long after a sync the controller begins the next one; that waits at its first question for its tick.
	pause = 500 * time.Millisecond
	// How long after a tick everything has happened, in virtual time: within the pause.
	settled = 250 * time.Millisecond

	lineBytesMax = 64 << 20
)

var (
	worlds     = flag.String("worlds", "", "a folder of recordings, *.jsonl, without outcomes")
	recordings = flag.String("recordings", "", "the folder to write them to with outcomes")
)

func TestDecisions(t *testing.T) {
	// They log, and wait for a millisecond.
	utilruntime.ErrorHandlers = nil
	// Between attempts at a scale write no time passes in a recording.
	retry.DefaultRetry = wait.Backoff{Steps: retry.DefaultRetry.Steps}
	gates := currentGates()
	paths, err := filepath.Glob(filepath.Join(*worlds, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		// Who panics on a goroutine of its own does not say for whom.
		fmt.Println(path)
		recorded, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		set, err := recorded.gates(gates)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(set); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		synctest.Test(t, func(*testing.T) { err = play(recorded) })
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := recorded.write(filepath.Join(*recordings, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("%s: no *.jsonl in it", *worlds)
	}
}

// play lets a controller live through all ticks of a recording and notes what it did at each.
func play(recorded *recording) error {
	seen := newWorld(recorded.header)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.New(&eventLog{world: seen})))
	seen.over = ctx.Done()
	controller := podautoscaler.NewHorizontalController(
		ctx,
		eventSink{},
		seen,
		seen,
		mapper{},
		metrics.NewRESTMetricsClient(seen, customMetrics{seen}, externalMetrics{seen}),
		autoscalerInformer{world: seen},
		podInformer{world: seen},
		pause,
		seconds(recorded.header.Settings.DownscaleStabilization),
		recorded.header.Settings.Tolerance,
		seconds(recorded.header.Settings.CPUInitializationPeriod),
		seconds(recorded.header.Settings.InitialReadinessDelay),
	)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, 1)
	}()
	defer func() {
		stop()
		<-ended
	}()
	for number := range recorded.ticks {
		tick := &recorded.ticks[number]
		seen.prepare(tick)
		if number == 0 {
			seen.handler.OnAdd(seen.autoscaler, false)
		}
		moment := recorded.header.Start.Add(time.Duration(tick.T) * time.Second)
		if time.Until(moment) < pause {
			return fmt.Errorf("tick %d at t=%d: less than a pause after the one before", number, tick.T)
		}
		time.Sleep(time.Until(moment))
		select {
		case seen.ticks <- tick:
		case <-time.After(settled):
			return fmt.Errorf("tick %d at t=%d: the controller does not ask for the scale; can its target's apiVersion be parsed?", number, tick.T)
		}
		time.Sleep(settled)
		synctest.Wait()
		tick.outcome = seen.settle()
	}
	return nil
}

func read(path string) (*recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, lineBytesMax)
	recorded := &recording{}
	for number := 1; lines.Scan(); number++ {
		if err := recorded.add(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return recorded, lines.Err()
}

func (r *recording) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	lines := json.NewEncoder(buffered)
	errs := []error{lines.Encode(r.headerFields)}
	for _, written := range r.ticks {
		errs = append(errs, lines.Encode(written.fieldsWithOutcome()))
	}
	return errors.Join(append(errs, buffered.Flush(), file.Close())...)
}

func seconds(number float64) time.Duration {
	return time.Duration(number * float64(time.Second))
}
