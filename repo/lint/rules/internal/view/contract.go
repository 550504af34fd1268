package view

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
)

// Newest is the newest step from one contract of Cluster API to the next.
func Newest() *table.Contract {
	all := table.Contracts()
	return all[len(all)-1]
}
