package ibsm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocks: no lock is held across a channel operation, the sending of packets, or the
// reading of a file. A goroutine that waits there makes all others wait that want the lock.
// The check follows the statements of a function, and its calls of functions of the same package. The
// simulated fabric in real time belongs to whoever holds its lock: nothing that is sent there waits.
func TestLocks(t *testing.T) {
	files, packages, functions := token.NewFileSet(), map[string][]*ast.FuncDecl{}, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			path == "sim/fabric/realtime.go" {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], f)
				functions++
			}
		}
		return nil
	})
	if err != nil || functions < 1000 {
		t.Fatalf("%d functions, %v", functions, err)
	}
	for _, list := range packages {
		l := lockCheck{slow: slowFunctions(list), report: func(at token.Pos, what string) {
			t.Errorf("%v: %s while a lock is held", files.Position(at), what)
		}}
		for _, f := range list {
			ast.Inspect(f, func(n ast.Node) bool {
				switch f := n.(type) {
				case *ast.FuncDecl:
					l.block(f.Body.List, false)
				case *ast.FuncLit:
					l.block(f.Body.List, false)
				}
				return true
			})
		}
	}
}

// slowFunctions are the names of those of a package that wait, or call one that does.
func slowFunctions(list []*ast.FuncDecl) map[string]bool {
	slow := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, f := range list {
			if slow[f.Name.Name] {
				continue
			}
			waits := false
			l := lockCheck{slow: slow, report: func(token.Pos, string) { waits = true }}
			if l.block(f.Body.List, true); waits {
				slow[f.Name.Name], grown = true, true
			}
		}
	}
	return slow
}

// lockCheck follows the statements of a function.
type lockCheck struct {
	slow   map[string]bool // functions of the package that wait
	report func(at token.Pos, what string)
}

// block follows a list of statements that begins with a lock held or not, and reports
// whether one is held at its end.
func (l *lockCheck) block(list []ast.Stmt, held bool) bool {
	for _, s := range list {
		held = l.statement(s, held)
	}
	return held
}

func (l *lockCheck) statement(s ast.Stmt, held bool) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		switch lockCall(s.X) {
		case "Lock", "RLock":
			return true
		case "Unlock", "RUnlock":
			return false
		}
	case *ast.DeferStmt:
		return held
	case *ast.BlockStmt:
		return l.block(s.List, held)
	case *ast.IfStmt:
		l.expressions(s.Init, held)
		l.expressions(s.Cond, held)
		after := l.block(s.Body.List, held)
		other := held
		if s.Else != nil {
			other = l.statement(s.Else, held)
		}
		if returns(s.Body.List) {
			return other
		}
		return after && other
	case *ast.ForStmt:
		l.expressions(s.Cond, held)
		return l.block(s.Body.List, held)
	case *ast.RangeStmt:
		l.expressions(s.X, held)
		return l.block(s.Body.List, held)
	case *ast.SwitchStmt:
		l.expressions(s.Tag, held)
		return l.cases(s.Body, held)
	case *ast.TypeSwitchStmt:
		return l.cases(s.Body, held)
	case *ast.SelectStmt:
		if held {
			l.report(s.Pos(), "select")
		}
		return l.cases(s.Body, held)
	case *ast.LabeledStmt:
		return l.statement(s.Stmt, held)
	}
	l.expressions(s, held)
	return held
}

// cases follows the cases of a switch or select.
func (l *lockCheck) cases(body *ast.BlockStmt, held bool) bool {
	after := held
	for _, c := range body.List {
		var list []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			list = c.Body
		case *ast.CommClause:
			list = c.Body
		}
		if end := l.block(list, held); !returns(list) {
			after = after && end
		}
	}
	return after
}

// returns reports whether a list of statements leaves the function, or the loop around it.
func returns(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	}
	return false
}

// slowCalls are methods and functions that wait for a port, a disk or another goroutine.
var slowCalls = map[string]bool{
	"Send": true, "Recv": true, "Wait": true, "ReadFile": true, "ReadAll": true, "Open": true, "ReadDir": true,
	"Stat":     true,
	"OpenFile": true, "Write": true, "WriteString": true, "WriteFile": true, "WriteTo": true, "Sync": true,
	"Close": true, "Truncate": true, "Rename": true,
	"Dial": true, "DialTimeout": true, "Accept": true, "Update": true, "View": true, "Run": true, "Sleep": true,
	"Flush": true,
	"Print": true, "Printf": true, "Println": true, "Fprint": true, "Fprintf": true, "Fprintln": true,
}

// expressions reports what a statement or expression does that must not be done with a lock
// held. What function literals do is looked at where they stand.
func (l *lockCheck) expressions(n ast.Node, held bool) {
	if !held || n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SendStmt:
			l.report(e.Pos(), "send to a channel")
		case *ast.UnaryExpr:
			if e.Op == token.ARROW {
				l.report(e.Pos(), "receive from a channel")
			}
		case *ast.CallExpr:
			name := ""
			switch f := e.Fun.(type) {
			case *ast.SelectorExpr:
				name = f.Sel.Name
			case *ast.Ident:
				name = f.Name
			}
			if slowCalls[name] || l.slow[name] {
				l.report(e.Pos(), "call of "+name)
			}
		}
		return true
	})
}

// lockCall is the name of the method where an expression calls one without arguments, such as Lock;
// "" for any other expression.
func lockCall(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) > 0 {
		return ""
	}
	return f.Sel.Name
}

// TestLockCheck shows what the check finds, and what it lets pass.
func TestLockCheck(t *testing.T) {
	for _, c := range []struct {
		body  string
		finds int
	}{
		{"mu.Lock(); x <- 1; mu.Unlock()", 1},
		{"mu.Lock(); mu.Unlock(); x <- 1", 0},
		{"mu.Lock(); defer mu.Unlock(); <-x", 1},
		{"mu.Lock(); defer mu.Unlock(); select { case x <- 1: default: }", 2},
		{"mu.RLock(); b, _ := os.ReadFile(name); mu.RUnlock(); use(b)", 1},
		{"mu.Lock(); if full { mu.Unlock(); port.Send(d); return }; mu.Unlock()", 0},
		{"mu.Lock(); if full { mu.Unlock() } else { port.Send(d); mu.Unlock() }", 1},
		{"for range 3 { mu.Lock(); n++; mu.Unlock(); port.Send(d) }", 0},
		{"mu.Lock(); go func() { x <- 1 }(); mu.Unlock()", 0},
		{"mu.Lock(); x.sends(); mu.Unlock()", 1},
		{"mu.Lock(); asks(); mu.Unlock()", 1},
		{"mu.Lock(); x.adds(); mu.Unlock()", 0},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+c.body+
			" }; func asks() { x.sends() }; func (x *X) sends() { port.Send(d) }; func (x *X) adds() { n++ }", 0)
		if err != nil {
			t.Fatal(err)
		}
		var list []*ast.FuncDecl
		for _, d := range file.Decls {
			list = append(list, d.(*ast.FuncDecl))
		}
		found := 0
		l := lockCheck{slow: slowFunctions(list), report: func(token.Pos, string) { found++ }}
		l.block(list[0].Body.List, false)
		if (found > 0) != (c.finds > 0) {
			t.Errorf("%s: %d findings, want %d", c.body, found, c.finds)
		}
	}
}
