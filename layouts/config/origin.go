package config

import (
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Origin remembers where a part of a configuration was written, so that a
// problem that shows later is still reported at its line. It is embedded in
// every struct of Config; the zero Origin belongs to detected values.
type Origin struct {
	file string
	pos  yamldoc.Pos
	keys map[string]yamldoc.Pos
}

// IsZero reports whether the value was not read from a file.
func (o Origin) IsZero() bool { return o.file == "" }

// Errorf returns an error at the value of key, or at the start of the struct
// if key is empty or absent. List items are addressed as "exclude[0]", map
// entries as "rename.kubeadm". Without a file the error has no position.
func (o Origin) Errorf(key, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if file, pos, ok := o.Place(key); ok {
		return &yamldoc.Error{File: file, Pos: pos, Err: err}
	}
	return err
}

// Place returns where the value of a key stands, or the struct if the key is
// absent. It is false if it was read from no file.
func (o Origin) Place(key string) (file string, pos yamldoc.Pos, ok bool) {
	if o.file == "" {
		return "", yamldoc.Pos{}, false
	}
	pos, known := o.keys[key]
	if !known {
		pos = o.pos
	}
	return o.file, pos, true
}
