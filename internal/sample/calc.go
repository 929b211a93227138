package sample

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
)

// evaluate computes an expression, which is written as in Go.
func evaluate(expression string, vars map[string]float64) (float64, error) {
	e, err := parser.ParseExpr(expression)
	var v float64
	if err == nil {
		v, err = valueOf(e, vars)
	}
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = errors.New("has no finite value")
	}
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", expression, err)
	}
	return v, nil
}

func valueOf(e ast.Expr, vars map[string]float64) (float64, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return valueOf(e.X, vars)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is no number", e.Value)
		}
		return v, nil
	case *ast.Ident:
		if v, ok := vars[e.Name]; ok {
			return v, nil
		}
		if e.Name == "pi" {
			return math.Pi, nil
		}
		return 0, fmt.Errorf("%q is no variable", e.Name)
	case *ast.UnaryExpr:
		v, err := valueOf(e.X, vars)
		return apply(e.Op, 0, v, err)
	case *ast.BinaryExpr:
		v, err := valueOf(e.X, vars)
		w, werr := valueOf(e.Y, vars)
		return apply(e.Op, v, w, errors.Join(err, werr))
	case *ast.CallExpr:
		return applied(e, vars)
	}
	return 0, errors.New("want numbers, variables, + - * / %, parentheses and functions")
}

// apply computes v op w unless err is set; -w is 0-w.
func apply(op token.Token, v, w float64, err error) (float64, error) {
	switch {
	case err != nil:
		return 0, err
	case w == 0 && (op == token.QUO || op == token.REM):
		return 0, errors.New("division by zero")
	}
	switch op {
	case token.ADD:
		return v + w, nil
	case token.SUB:
		return v - w, nil
	case token.MUL:
		return v * w, nil
	case token.QUO:
		return v / w, nil
	case token.REM:
		return math.Mod(v, w), nil
	}
	return 0, fmt.Errorf("operator %s: want + - * / or %%; powers are pow(x, y)", op)
}

var functions = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "abs": math.Abs, "sin": math.Sin, "cos": math.Cos, "ln": math.Log, "log": math.Log10, "round": math.Round,
}

var functionsOfTwo = map[string]func(float64, float64) float64{"pow": math.Pow, "min": math.Min, "max": math.Max}

// applied is the value of a function's call.
func applied(e *ast.CallExpr, vars map[string]float64) (float64, error) {
	var args []float64
	for _, a := range e.Args {
		v, err := valueOf(a, vars)
		if err != nil {
			return 0, err
		}
		args = append(args, v)
	}
	name := ""
	if id, ok := e.Fun.(*ast.Ident); ok {
		name = id.Name
	}
	if f := functions[name]; f != nil && len(args) == 1 {
		return f(args[0]), nil
	}
	if f := functionsOfTwo[name]; f != nil && len(args) == 2 {
		return f(args[0], args[1]), nil
	}
	return 0, fmt.Errorf("%q is no function of %d", name, len(args))
}
