package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one small change to a source file.
type mutant struct {
	pkg        string // import path
	file       string // absolute path
	line       int
	column     int
	operator   string
	start, end int // byte offsets of the text that is replaced
	before     string
	after      string
	id         int  // selects it in a test binary
	alone      bool // it is outside a function, and needs a test binary of its own
}

// String has the path from here.
func (m *mutant) String() string {
	file := m.file
	if here, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(here, file); err == nil {
			file = path
		}
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s -> %s", file, m.line, m.column, m.operator, short(m.before), short(m.after))
}

// short is a text on one line of moderate length.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	if s == "" {
		return "(nothing)"
	}
	return s
}

// apply returns src with the mutant in it.
func (m *mutant) apply(src []byte) []byte {
	return bytes.Join([][]byte{src[:m.start], []byte(m.after), src[m.end:]}, nil)
}

// swaps are the operators that take the place of others, with the kind of each mutant.
var swaps = map[token.Token][]struct {
	kind string
	by   token.Token
}{
	token.EQL:        {{"negate", token.NEQ}},
	token.NEQ:        {{"negate", token.EQL}},
	token.LSS:        {{"boundary", token.LEQ}, {"negate", token.GEQ}},
	token.LEQ:        {{"boundary", token.LSS}, {"negate", token.GTR}},
	token.GTR:        {{"boundary", token.GEQ}, {"negate", token.LEQ}},
	token.GEQ:        {{"boundary", token.GTR}, {"negate", token.LSS}},
	token.LAND:       {{"logic", token.LOR}},
	token.LOR:        {{"logic", token.LAND}},
	token.ADD:        {{"arithmetic", token.SUB}},
	token.SUB:        {{"arithmetic", token.ADD}},
	token.MUL:        {{"arithmetic", token.QUO}},
	token.QUO:        {{"arithmetic", token.MUL}},
	token.REM:        {{"arithmetic", token.MUL}},
	token.AND:        {{"bits", token.OR}},
	token.OR:         {{"bits", token.AND}},
	token.XOR:        {{"bits", token.AND}},
	token.AND_NOT:    {{"bits", token.AND}},
	token.SHL:        {{"bits", token.SHR}},
	token.SHR:        {{"bits", token.SHL}},
	token.ADD_ASSIGN: {{"arithmetic", token.SUB_ASSIGN}},
	token.SUB_ASSIGN: {{"arithmetic", token.ADD_ASSIGN}},
	token.OR_ASSIGN:  {{"bits", token.AND_ASSIGN}},
	token.INC:        {{"arithmetic", token.DEC}},
	token.DEC:        {{"arithmetic", token.INC}},
}

// finder collects the mutants of one file.
type finder struct {
	pkg, path string
	src       []byte
	fset      *token.FileSet
	found     []*mutant
}

// mutantsOf returns every mutant of a source file, in the order of the text. Some of them
// do not compile.
func mutantsOf(pkg, path string, src []byte) ([]*mutant, error) {
	f := &finder{pkg: pkg, path: path, src: src, fset: token.NewFileSet()}
	file, err := parser.ParseFile(f.fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !ast.IsGenerated(file) {
		ast.Inspect(file, f.visit)
	}
	return f.found, nil
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

// replace adds the mutant that has other text in place of [from, to).
func (f *finder) replace(kind string, from, to token.Pos, after string) {
	start, end := f.offset(from), f.offset(to)
	at := f.fset.Position(from)
	f.found = append(f.found, &mutant{pkg: f.pkg, file: f.path, line: at.Line, column: at.Column, operator: kind,
		start: start, end: end, before: string(f.src[start:end]), after: after})
}

func (f *finder) swap(at token.Pos, op token.Token) {
	for _, s := range swaps[op] {
		f.replace(s.kind, at, at+token.Pos(len(op.String())), s.by.String())
	}
}

// visit adds the mutants of one node. It returns false where nothing below may be changed.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field:
		return false
	case *ast.FuncDecl:
		return n.Name.Name != "String" && n.Name.Name != "GoString"
	case *ast.CallExpr:
		return !speaks(n)
	case *ast.BinaryExpr:
		f.swap(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.replace("negate", n.OpPos, n.OpPos+1, "")
		}
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.replace("constant", n.Pos(), n.End(), "false")
		case "false":
			f.replace("constant", n.Pos(), n.End(), "true")
		}
	case *ast.IfStmt:
		f.replace("condition", n.Cond.Pos(), n.Cond.End(), "true || "+f.operand(n.Cond))
		f.replace("condition", n.Cond.Pos(), n.Cond.End(), "false && "+f.operand(n.Cond))
	case ast.Stmt:
		return f.statement(n)
	}
	return true
}

// operand is an expression as an operand of && and ||.
func (f *finder) operand(e ast.Expr) string { return "(" + f.text(e) + ")" }

// literal adds the neighbours of an integer.
func (f *finder) literal(n *ast.BasicLit) {
	v, ok := new(big.Int).SetString(n.Value, 0)
	if n.Kind != token.INT || !ok {
		return
	}
	one := big.NewInt(1)
	f.replace("constant", n.Pos(), n.End(), new(big.Int).Add(v, one).String())
	if v.Sign() > 0 {
		f.replace("constant", n.Pos(), n.End(), new(big.Int).Sub(v, one).String())
	}
}

// statement adds the mutants that drop or change a whole statement.
func (f *finder) statement(n ast.Stmt) bool {
	drop := func() { f.replace("drop", n.Pos(), n.End(), "") }
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && speaks(call) {
			return false
		}
		drop()
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			drop()
		}
		f.swap(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		drop()
		f.swap(n.TokPos, n.Tok)
	case *ast.DeferStmt, *ast.SendStmt:
		drop()
	case *ast.BranchStmt:
		switch {
		case n.Tok == token.CONTINUE && n.Label == nil:
			f.replace("branch", n.Pos(), n.End(), "break")
		case n.Tok == token.BREAK && n.Label == nil:
			f.replace("branch", n.Pos(), n.End(), "continue")
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if name, ok := e.(*ast.Ident); ok && strings.HasPrefix(strings.ToLower(name.Name), "err") {
				f.replace("error", e.Pos(), e.End(), "nil")
			}
		}
	case *ast.CaseClause:
		if len(n.Body) > 0 {
			f.replace("empty case", n.Body[0].Pos(), n.Body[len(n.Body)-1].End(), "")
		}
	}
	return true
}

// speaks reports whether a call only writes a log or words an error: no test checks wording.
func speaks(call *ast.CallExpr) bool {
	name, of := "", ""
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		name = fun.Sel.Name
		if x, ok := fun.X.(*ast.Ident); ok {
			of = x.Name
		}
	}
	switch name {
	case "log", "logf", "Debug", "Info", "Warn", "Error", "panic":
		return len(call.Args) > 0
	case "Errorf", "Sprintf", "Fprintf":
		return of == "fmt"
	case "New":
		return of == "errors"
	}
	return false
}
