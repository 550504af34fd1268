package table

import (
	"fmt"
	"strings"
)

// Guide writes what becomes of the fields of a kind, below a heading.
func (k *Kind) Guide(heading string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n`%s/%s` becomes `%s`.", heading, k.Kind, k.Group, strings.Join(k.From, ", "), k.APIVersion())
	var rows []Row
	for _, r := range k.Rows {
		if r.Path != "status" {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		b.WriteString(" No field changes.\n")
		return b.String()
	}
	b.WriteString("\n\n| field | becomes | value | why |\n|---|---|---|---|\n")
	for _, r := range rows {
		to := "`" + r.To + "`"
		switch {
		case r.Dropped():
			to = "dropped"
		case r.Path == r.To:
			to = "stays"
		}
		if r.Also != "" {
			to += " and `" + r.Also + "`"
		}
		value := string(r.Value)
		if r.Default != "" {
			value = r.Default + " if it is missing"
		}
		if r.IfEmpty {
			value = r.Default + " if there is nothing else"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Path, to, value, r.Why)
	}
	return b.String()
}
