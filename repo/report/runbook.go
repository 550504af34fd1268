package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

// kubeconfigs introduces the commands of a runbook.
const kubeconfigs = "The commands use two variables: $SOURCE is the kubeconfig of the management cluster that is left, $TARGET that of the new one."

func runbookText(w *bufio.Writer, plans []MovePlan, _ MoveOptions) {
	for i, p := range plans {
		if i > 0 {
			w.WriteByte('\n')
		}
		r := p.Runbook()
		fmt.Fprintf(w, "RUNBOOK: move of %s\n\n%s\n%s\n", visible(p.Title), visible(r.Conclusion), kubeconfigs)
		for _, s := range r.Sections {
			fmt.Fprintf(w, "\n%s\n", strings.ToUpper(s.Title))
			if s.Text != "" {
				fmt.Fprintf(w, "%s\n", visible(s.Text))
			}
			for k, t := range s.Tasks {
				fmt.Fprintf(w, "\n%3d. %s\n", k+1, visible(t.Text))
				for _, c := range t.Commands {
					fmt.Fprintf(w, "       %s\n", visible(c))
				}
			}
		}
	}
}

func runbookMarkdown(w *bufio.Writer, plans []MovePlan, _ MoveOptions) {
	for i, p := range plans {
		if i > 0 {
			w.WriteByte('\n')
		}
		r := p.Runbook()
		fmt.Fprintf(w, "# Move of %s\n\n**%s**\n\n%s\n", prose(p.Title), prose(r.Conclusion), prose(kubeconfigs))
		for _, s := range r.Sections {
			fmt.Fprintf(w, "\n## %s\n", prose(s.Title))
			if s.Text != "" {
				fmt.Fprintf(w, "\n%s\n", prose(s.Text))
			}
			for _, t := range s.Tasks {
				fmt.Fprintf(w, "\n- [ ] %s\n", prose(t.Text))
				if len(t.Commands) == 0 {
					continue
				}
				w.WriteString("\n  ````sh\n")
				for _, c := range t.Commands {
					fmt.Fprintf(w, "  %s\n", visible(c))
				}
				w.WriteString("  ````\n")
			}
		}
	}
}

func runbookHTML(w io.Writer, plans []MovePlan, o MoveOptions) error {
	var main []markup.Node
	for _, p := range plans {
		main = append(main, runbookPage(p.Title, p.Runbook()))
	}
	if _, err := io.WriteString(w, "<!DOCTYPE html>\n"); err != nil {
		return err
	}
	body := markup.El("body", nil,
		el("header", "", el("h1", "", markup.Text("Runbook for clusterctl move")), el("p", "by", markup.Text(kubeconfigs))),
		el("main", "", main...))
	return markup.Write(w, lines(markup.El("html", markup.Attrs("lang", "en"), moveHead("clusterctl-repo runbook"), body)))
}

func runbookPage(title string, r *owners.Runbook) markup.Node {
	parts := []markup.Node{el("h2", "", markup.Text(visible(title))), el("p", "", markup.Text(visible(r.Conclusion)))}
	for _, s := range r.Sections {
		parts = append(parts, el("h3", "", markup.Text(visible(s.Title))))
		if s.Text != "" {
			parts = append(parts, el("p", "", markup.Text(visible(s.Text))))
		}
		var tasks []markup.Node
		for _, t := range s.Tasks {
			item := []markup.Node{markup.Text(visible(t.Text))}
			if len(t.Commands) > 0 {
				commands := make([]string, len(t.Commands))
				for i, c := range t.Commands {
					commands[i] = visible(c)
				}
				item = append(item, el("pre", "", el("code", "", markup.Text(strings.Join(commands, "\n")))))
			}
			tasks = append(tasks, el("li", "", item...))
		}
		if len(tasks) > 0 {
			parts = append(parts, el("ol", "", tasks...))
		}
	}
	return el("section", "group", parts...)
}
