// Package conf is the configuration of the manager: one table with a row for each
// setting, and from it the readers and writers of opensm.conf, ibsm.toml and the
// command line, their help and the reference page.
//
// A setting has one name in opensm.conf and a second one, in a group, in ibsm.toml.
// Its value comes from the default, the environment (OSM_TMP_DIR only), a file and the
// command line; each takes precedence over the ones before.
//
// Every problem is a Finding with a position and a Severity. An invalid value is never
// applied: the setting keeps its previous value.
//
// The package opens no file and reads no environment: the caller passes both to Load.
package conf
