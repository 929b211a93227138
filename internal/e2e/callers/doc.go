// Package callers tests who may do what through a gateway as it is put
// together from a configuration: nothing here is in its place that is otherwise
// when it runs.
package callers
