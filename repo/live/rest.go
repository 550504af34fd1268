package live

import "k8s.io/client-go/rest"

// REST returns the access to the API server, for the packages below this one.
func (c *Cluster) REST() rest.Interface { return c.client }
