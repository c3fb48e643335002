// Package policyfile reads the format of OpenSM's policy files, such as qos-policy.conf: blocks that begin
// with a keyword and end with end-KEYWORD, and in them lines of KEYWORD: VALUE. It does not know what
// the keywords mean.
package policyfile
