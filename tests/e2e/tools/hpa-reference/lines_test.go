package reference

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// answerLines writes what becomes of each line of one file into another one, in one line, too.
func answerLines(t *testing.T, given, answers string, answer func(line []byte) (any, error)) {
	t.Helper()
	from, err := os.Open(given)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	file, err := os.Create(answers)
	if err != nil {
		t.Fatal(err)
	}
	buffered := bufio.NewWriter(file)
	output := json.NewEncoder(buffered)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, lineBytesMax)
	for number := 1; lines.Scan(); number++ {
		said, err := answer(lines.Bytes())
		if err != nil {
			t.Fatalf("%s:%d: %v", given, number, err)
		}
		if err := output.Encode(said); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(lines.Err(), buffered.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}
