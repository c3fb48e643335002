// Package instances reads which subnet managers are configured for a host, from the files in
// which OpenSM's packages keep that: numbered configuration files, /etc/sysconfig/opensm
// of Red Hat's and /etc/default/opensm of Debian's.
package instances
