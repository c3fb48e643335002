// Package conf is the configuration of the manager: one table with a row for each
// setting, and from it the readers and writers of opensm.conf, ibsm.toml and the
// command line, their help and the reference page.
//
// A setting has one name, that of opensm.conf, and a second one in a group for
// ibsm.toml. A value comes, in this order, each over the one before, from the
// default, the environment (OSM_TMP_DIR alone), a file, and the command line.
//
// What is wrong with any of them is a Finding with a place and a Severity. A value
// that is not understood is never put in force: the setting keeps what it had.
//
// The package opens no file and reads no environment: Load is handed both.
package conf
