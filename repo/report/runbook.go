package report

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

// kubeconfigs introduces the commands of a runbook.
const kubeconfigs = "The commands use two variables: $SOURCE is the kubeconfig of the old management cluster, $TARGET that of the new one."

// folderRestored introduces those of a restore.
const folderRestored = "The commands use two variables: $BACKUP is the folder that clusterctl move --to-directory wrote, $TARGET the kubeconfig of the new management cluster."

func runbookPage(format string, plans []MovePlan) *markup.Page {
	p := &markup.Page{Format: format}
	for i, plan := range plans {
		if i > 0 {
			p.Gap()
		}
		r := plan.Runbook()
		if p.IsText() {
			p.Heading(1, "RUNBOOK: move of "+plan.Title)
			p.Gap()
			p.Para(r.Conclusion)
		} else {
			p.Heading(1, "Move of "+plan.Title)
			p.Para(markup.Strong(r.Conclusion))
		}
		if plan.Restore {
			p.Para(folderRestored)
		} else {
			p.Para(kubeconfigs)
		}
		for _, s := range r.Sections {
			p.Gap()
			if p.IsText() {
				s.Title = strings.ToUpper(s.Title)
			}
			p.Heading(2, s.Title)
			if s.Text != "" {
				p.Para(s.Text)
			}
			for k, t := range s.Tasks {
				p.Gap()
				p.Task(k+1, t.Text, t.Commands)
			}
		}
	}
	return p
}
