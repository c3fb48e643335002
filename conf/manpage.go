package conf

import (
	"fmt"
	"strings"

	"ibsm/conf/manual"
)

// ManPages returns the man pages of the program and its settings, by file name. date, such
// as 2006-01-02, is printed on them.
func ManPages(date string) map[string]string {
	program := manual.Page{Name: "ibsm", Section: 8, Summary: "InfiniBand subnet manager", Date: date}
	program.Help(Usage(), false)
	program.Heading("See also")
	program.Paragraph("ibsm.conf(5), ibsmctl(8), ibfabric(1)")
	return map[string]string{"ibsm.8": program.Roff(), "ibsm.conf.5": settingsPage(date)}
}

// settingsPage is docs/options.md as a man page.
func settingsPage(date string) string {
	p := manual.Page{Name: "ibsm.conf", Section: 5, Summary: "settings of ibsm, in opensm.conf or ibsm.toml",
		Date: date}
	p.Heading("Description")
	// The introduction of the reference, without the paragraphs about the table.
	head := strings.Split(strings.TrimSpace(referenceHead), "\n\n")
	for _, text := range head[2 : len(head)-1] {
		p.Paragraph(strings.NewReplacer("**", "", "`", "").Replace(text))
	}
	p.Paragraph("Each entry shows the name in opensm.conf and, in parentheses, the name in ibsm.toml.")
	for i := range table {
		k := &table[i]
		if banner := sections[k.Name]; banner != "" {
			p.Heading(banner)
		}
		p.Entry(k.Name+" ("+k.TOML+")", k.describe())
	}
	p.Heading("See also")
	p.Paragraph("ibsm(8), ibsmctl(8)")
	return p.Roff()
}

// describe formats a setting as a paragraph.
func (k *Key) describe() string {
	text := capital(k.Help) + ". " + capital(k.Wanted()) + "."
	standard := k.Default
	if k.Kind == Mask {
		standard = "0x0"
	}
	if k.Unset != "" {
		standard += ", " + k.Unset
	}
	if standard != "" {
		text += fmt.Sprintf(" Default: %s.", standard)
	}
	if names := k.optionNames(); names != "" {
		text += fmt.Sprintf(" Option: %s.", strings.ReplaceAll(names, "`", ""))
	}
	if !k.Reload {
		text += " A new value needs a restart."
	}
	switch k.Effect {
	case NotYet:
		text += " It has no effect yet."
	case Foreign:
		text += " It tunes OpenSM's implementation and has no effect here."
	}
	return text
}
