// Package qos implements qos-policy.conf: which service level, MTU, rate, lifetime and P_Key
// the SA gives to which path.
//
// Parse reads a file into a Policy, with errors and warnings at line and column; a file with
// errors has no Policy. The grammar is that of OpenSM. Where OpenSM misreads a correct file,
// this package follows the file and warns of the difference. Policy.Compile makes of it a
// Matcher for the ports of one subnet, which selects the rule for a request.
//
// The package opens no files and sends nothing.
package qos
