package report

import "strings"

// kubeconfigs introduces the commands of a runbook.
const kubeconfigs = "The commands use two variables: $SOURCE is the kubeconfig of the old management cluster, $TARGET that of the new one."

func runbookPage(format string, plans []MovePlan) *page {
	p := &page{format: format}
	for i, plan := range plans {
		if i > 0 {
			p.gap()
		}
		r := plan.Runbook()
		if p.isText() {
			p.heading(1, "RUNBOOK: move of "+plan.Title)
			p.gap()
			p.para(r.Conclusion)
		} else {
			p.heading(1, "Move of "+plan.Title)
			p.para(strong(r.Conclusion))
		}
		p.para(kubeconfigs)
		for _, s := range r.Sections {
			p.gap()
			if p.isText() {
				s.Title = strings.ToUpper(s.Title)
			}
			p.heading(2, s.Title)
			if s.Text != "" {
				p.para(s.Text)
			}
			for k, t := range s.Tasks {
				p.gap()
				p.task(k+1, t.Text, t.Commands)
			}
		}
	}
	return p
}
