package inventory

import (
	"context"
	"fmt"
	"github.com/clusterctl-repo/clusterctl-repo/repo/folder"
	"os"
	"path/filepath"
	"sort"
	"testing"
)

func TestDump(t *testing.T) {
	r, err := folder.Open(context.Background(), os.Getenv("CORPUS"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[Type]int{}
	notes := map[NoteKind]int{}
	nimg := 0
	nv := 0
	var unk []string
	seen, canon, vimg := 0, 0, 0
	for _, p := range r.Providers {
		for _, rel := range p.Releases {
			vs, err := Variables(context.Background(), rel)
			if err != nil {
				fmt.Println("VERR", err)
			}
			for _, v := range vs {
				nv++
				types[v.Type]++
				for _, n := range v.Notes {
					notes[n.Kind]++
				}
				d := "-"
				if v.Default != nil {
					d = *v.Default
				}
				if v.Type != String || os.Getenv("ALL") != "" {
					unk = append(unk, fmt.Sprint(rel.Provider.Label(), " ", v.Name, " ", v.Type, " ", d, " ", v.Uses[0].File, ":", v.Uses[0].Line))
				}
				if os.Getenv("NOTES") != "" {
					for _, n := range v.Notes {
						if n.Kind != NoteSometimesNeeded {
							fmt.Println(filepath.Base(rel.Path), rel.Provider, v.Name, n.Kind, n.Message, len(n.Places), n.Places[0])
						}
					}
				}
			}
			im, err := Images(context.Background(), rel)
			if err != nil {
				fmt.Println("IERR", err)
			}
			nimg += len(im)
			for _, i := range im {
				if i.SeenByClusterctl {
					seen++
				}
				if i.Canonical {
					canon++
				}
				if i.Variable != "" {
					vimg++
				}
				if !i.SeenByClusterctl || !i.Canonical || i.Expression != "" || i.Variable != "" {
					fmt.Printf("IMG %+v\n", i)
				}
			}
		}
	}
	sort.Strings(unk)
	for _, u := range unk {
		fmt.Println(u)
	}
	fmt.Println(nv, types, notes, nimg, seen, canon, vimg)
}
