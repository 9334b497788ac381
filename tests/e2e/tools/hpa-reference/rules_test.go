package reference

import (
	"flag"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

var (
	ruleTexts = flag.String("rule-texts", "", "a file of what prometheus-adapter's rules are written in, one in each line")
	ruleSays  = flag.String("rule-says", "", "the file to write what Go makes of each of them to")
)

// A regular expression with names that it is held against and a text that their groups go into; or a template with what it
// is filled with, in the type that the adapter fills queries from.
type ruleText struct {
	Expression string
	Names      []string
	As         string
	Template   string
	Values     struct {
		Series            string
		LabelMatchers     string
		LabelValuesByName map[string]string
		GroupBy           string
		GroupBySlice      []string
	}
}

// What the names are made into, null for one in which nothing is found; what the template becomes, or why nothing.
type ruleSaid struct {
	Refused string    `json:"refused,omitempty"`
	Named   []*string `json:"named,omitempty"`
	Failed  string    `json:"failed,omitempty"`
	Filled  *string   `json:"filled,omitempty"`
}

func TestRules(t *testing.T) {
	answerLines(t, *ruleTexts, *ruleSays, func(line []byte) (any, error) {
		var text ruleText
		if err := strictly(line, &text); err != nil {
			return nil, err
		}
		if text.Template != "" {
			return text.fill(), nil
		}
		return text.name(), nil
	})
}

func (r *ruleText) name() ruleSaid {
	expression, err := regexp.Compile(r.Expression)
	if err != nil {
		return ruleSaid{Refused: err.Error()}
	}
	var said ruleSaid
	for _, name := range r.Names {
		var made *string
		if found := expression.FindStringSubmatchIndex(name); found != nil {
			expanded := string(expression.ExpandString(nil, r.As, name, found))
			made = &expanded
		}
		said.Named = append(said.Named, made)
	}
	return said
}

func (r *ruleText) fill() ruleSaid {
	parsed, err := template.New("").Delims("<<", ">>").Parse(r.Template)
	if err != nil {
		return ruleSaid{Refused: err.Error()}
	}
	var filled strings.Builder
	if err := parsed.Execute(&filled, r.Values); err != nil {
		return ruleSaid{Failed: err.Error()}
	}
	text := filled.String()
	return ruleSaid{Filled: &text}
}
