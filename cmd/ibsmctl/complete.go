package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ibsm/ctl"
)

// nodesAsk is what scripts for shells ask for the names of nodes and ports; the word at the
// cursor and those of the line before it follow.
const nodesAsk = "ibsmctl completion nodes"

// Who waits for completion is typing: a manager has completePatience to begin its answer,
// and completeLimit to end it.
const (
	completePatience = 200 * time.Millisecond
	completeLimit    = time.Second
)

// completeNodes prints what may stand for a node or port behind a line, and begins with a
// word. Trouble has it print nothing.
func completeNodes(ctx context.Context, word string, line []string, stdout io.Writer) error {
	word = strings.ReplaceAll(word, `\`, "")
	a := newAsker("completion", "")
	a.ParseErrorsAllowlist.UnknownFlags = true
	found, answers := make(chan []string, 1), make(chan bool, 1)
	go func() {
		if done, err := a.parse(joined(line), 0, len(line), io.Discard); done || err != nil || !takesNode(a.args, line) {
			found <- nil
			return
		}
		found <- a.nodesLike(ctx, word, lastOf(line) != "--node", answers)
	}()
	late := time.NewTimer(completePatience)
	for {
		select {
		case <-answers:
			late.Reset(completeLimit)
		case <-late.C:
			return nil
		case names := <-found:
			for _, name := range names {
				if _, err := fmt.Fprintln(stdout, name); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// joined makes one word of each three that bash has made of --name=value.
func joined(line []string) (words []string) {
	for i := 0; i < len(line); i++ {
		if line[i] == "=" && len(words) > 0 && i+1 < len(line) {
			i++
			words[len(words)-1] += "=" + line[i]
			continue
		}
		words = append(words, line[i])
	}
	return words
}

// lastOf is the option that the word at the end of a line belongs to, or the word before it.
func lastOf(line []string) string {
	if n := len(line); n > 1 && line[n-1] == "=" {
		return line[n-2]
	} else if n > 0 {
		return line[n-1]
	}
	return ""
}

// takesNode reports whether a node or port may follow a line, whose words without options
// are args.
func takesNode(args, line []string) bool {
	switch {
	case lastOf(line) == "--node":
		return true
	case len(args) == 0:
		return false
	case args[0] == "why" || args[0] == "path":
		return len(args) <= 2
	}
	return slices.Equal(args, []string{"partitions", "why"})
}

// nodesLike are the names of nodes that begin with a word; of 0x GUIDs, of a number LIDs, if
// they will do. It sends to answers when the manager does.
func (a *asker) nodesLike(ctx context.Context, word string, lids bool, answers chan<- bool) (found []string) {
	body, err := a.Open(ctx, http.MethodGet, "/v1/nodes", nil)
	if err != nil {
		return nil
	}
	answers <- true
	var nodes []ctl.Node
	shared := map[string]int{} // how many nodes are called so for short
	err = ctl.Elements(body, "/v1/nodes", func(n *ctl.Node) error {
		n.Desc = a.names.of(n.GUID, n.Desc)
		nodes = append(nodes, *n)
		shared[shortName(n)]++
		return nil
	})
	if err != nil {
		return nil
	}
	isGUID, isLID := strings.HasPrefix(word, "0x"), word != "" && strings.Trim(word, "0123456789") == "" && lids
	for i := range nodes {
		n := &nodes[i]
		name := shortName(n)
		if shared[name] > 1 {
			name = n.Desc
		}
		for _, candidate := range []string{name, n.GUID, strconv.Itoa(int(n.LID))} {
			typed := candidate == name || candidate == n.GUID && isGUID || isLID && n.LID != 0
			if candidate != "" && typed && strings.HasPrefix(candidate, word) && strings.IndexFunc(candidate, notPrint) < 0 {
				found = append(found, candidate)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func notPrint(r rune) bool { return !unicode.IsPrint(r) }

// shortName is what a node is called for short: a host by its name without that of its
// adapter.
func shortName(n *ctl.Node) string {
	if n.Type != "CA" {
		return n.Desc
	}
	name, _, _ := strings.Cut(n.Desc, " ")
	return name
}
