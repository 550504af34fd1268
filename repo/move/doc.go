// Package move is the graph of which object owns which, and what clusterctl move makes of
// it. It also reads the objects of a management cluster from dumps: of each object it
// keeps what a move depends on, and of Secrets no values.
//
// A graph has nodes, which are objects, and edges, which say who owns whom or who
// names whom, and why. Template derives the edges from the objects of a cluster
// template or ClusterClass, as the controllers will set them; FromDump takes them
// from objects that exist, and finds these as clusterctl does. Resolve says of every
// node whether it moves, and why.
//
// It must not know rules, releases, or a cluster, nor print.
package move
