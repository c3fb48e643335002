package main

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"ibsm/ctl"
	"ibsm/ctl/profile"
)

// Completion must not delay typing: a manager has completePatience to begin its answer, and
// completeLimit to end it.
var (
	completePatience = 200 * time.Millisecond
	completeLimit    = time.Second
)

// completeNodes completes up to most arguments that are nodes or ports.
func (a *asker) completeNodes(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.candidates(cmd.Context(), word, true), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNodeOption completes the option --node of a verb.
func (a *asker) completeNodeOption(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("node", func(cmd *cobra.Command, _ []string, word string) ([]string,
		cobra.ShellCompDirective) {
		return a.candidates(cmd.Context(), word, false), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeProfiles completes a list of profiles.
func completeProfiles(_ *cobra.Command, _ []string, word string) (words []string, _ cobra.ShellCompDirective) {
	file, err := profile.Read(profile.Usual())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := word[:strings.LastIndex(word, ",")+1]
	listed := strings.Split(before, ",")
	for _, name := range file.Names() {
		if strings.HasPrefix(before+name, word) && !slices.Contains(listed, name) {
			words = append(words, before+name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// candidates are the nodes that begin with a word, nil after an error or if the manager is slow.
func (a *asker) candidates(ctx context.Context, word string, lids bool) []string {
	found, answers := make(chan []string, 1), make(chan bool, 1)
	go func() {
		if a.open(ctx) != nil {
			found <- nil
			return
		}
		found <- a.nodesLike(ctx, word, lids, answers)
	}()
	late := time.NewTimer(completePatience)
	for {
		select {
		case <-answers:
			late.Reset(completeLimit)
		case <-late.C:
			return nil
		case names := <-found:
			return names
		}
	}
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
			if candidate != "" && typed && strings.HasPrefix(candidate, word) &&
				strings.IndexFunc(candidate, notPrint) < 0 {
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
		return strings.TrimSpace(n.Desc)
	}
	return ctl.HostName(n.Desc)
}
