// The plug-in ibsm of ib-kubernetes. It is a module of its own, as it is linked into a program of others; it needs the
// standard library alone.
module ibsm/plugins/ib-kubernetes

go 1.25.0
