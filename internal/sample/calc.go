package sample

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// maxDepth bounds nesting, so that an expression cannot exhaust the stack.
const maxDepth = 200

// A calculator reads one expression by recursive descent:
//
//	sum     = product { ("+"|"-") product }
//	product = power { ("*"|"/"|"%") power }
//	power   = unary [ "^" power ]
//	unary   = { "+"|"-" } atom
//	atom    = number | name [ "(" sum { "," sum } ")" ] | "(" sum ")"
type calculator struct {
	rest  string
	vars  map[string]float64
	depth int
}

// evaluate computes an expression. As in most calculators -2^2 is -4.
func evaluate(expression string, vars map[string]float64) (float64, error) {
	c := &calculator{rest: expression, vars: vars}
	v, err := c.sum()
	if err == nil {
		if c.skip(); c.rest != "" {
			err = fmt.Errorf("unexpected %q", c.rest)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", expression, err)
	}
	return v, nil
}

func (c *calculator) skip() { c.rest = strings.TrimLeft(c.rest, " \t\r\n") }

// take consumes one of the operators in set, or returns 0.
func (c *calculator) take(set string) byte {
	c.skip()
	if c.rest == "" || !strings.Contains(set, c.rest[:1]) {
		return 0
	}
	op := c.rest[0]
	c.rest = c.rest[1:]
	return op
}

func (c *calculator) sum() (float64, error) {
	if c.depth++; c.depth > maxDepth {
		return 0, errors.New("nested too deeply")
	}
	defer func() { c.depth-- }()
	return c.chain("+-", c.product)
}

func (c *calculator) product() (float64, error) { return c.chain("*/%", c.signed) }

// chain reads operands joined by left-associative operators.
func (c *calculator) chain(ops string, operand func() (float64, error)) (float64, error) {
	v, err := operand()
	for err == nil {
		op := c.take(ops)
		if op == 0 {
			break
		}
		var w float64
		if w, err = operand(); err == nil {
			v, err = apply(op, v, w)
		}
	}
	return v, err
}

func apply(op byte, v, w float64) (float64, error) {
	if w == 0 && (op == '/' || op == '%') {
		return 0, errors.New("division by zero")
	}
	switch op {
	case '+':
		return v + w, nil
	case '-':
		return v - w, nil
	case '*':
		return v * w, nil
	case '/':
		return v / w, nil
	}
	return math.Mod(v, w), nil
}

func (c *calculator) signed() (float64, error) {
	negative := false
	for op := c.take("+-"); op != 0; op = c.take("+-") {
		negative = negative != (op == '-')
	}
	v, err := c.power()
	if negative {
		v = -v
	}
	return v, err
}

func (c *calculator) power() (float64, error) {
	v, err := c.atom()
	if err != nil || c.take("^") == 0 {
		return v, err
	}
	if c.depth++; c.depth > maxDepth {
		return 0, errors.New("nested too deeply")
	}
	defer func() { c.depth-- }()
	w, err := c.signed()
	return math.Pow(v, w), err
}

func (c *calculator) atom() (float64, error) {
	if c.take("(") != 0 {
		v, err := c.sum()
		if err == nil && c.take(")") == 0 {
			err = errors.New("missing )")
		}
		return v, err
	}
	if c.rest == "" {
		return 0, errors.New("ends too early")
	}
	if r := c.rest[0]; r == '.' || '0' <= r && r <= '9' {
		return c.number()
	}
	return c.name()
}

func (c *calculator) number() (float64, error) {
	n := 0
	for n < len(c.rest) && strings.IndexByte("0123456789.", c.rest[n]) >= 0 {
		n++
	}
	// An exponent belongs to the number only if digits follow it.
	if m := n + 1; n < len(c.rest) && (c.rest[n] == 'e' || c.rest[n] == 'E') {
		if m < len(c.rest) && (c.rest[m] == '+' || c.rest[m] == '-') {
			m++
		}
		for k := m; k < len(c.rest) && '0' <= c.rest[k] && c.rest[k] <= '9'; k++ {
			n = k + 1
		}
	}
	text := c.rest[:n]
	c.rest = c.rest[n:]
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return v, nil
}

var constants = map[string]float64{"pi": math.Pi, "e": math.E}

func (c *calculator) name() (float64, error) {
	n := strings.IndexFunc(c.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		n = len(c.rest)
	}
	if n == 0 {
		return 0, fmt.Errorf("unexpected %q", c.rest)
	}
	name := c.rest[:n]
	c.rest = c.rest[n:]
	if c.take("(") != 0 {
		return c.call(name)
	}
	if v, ok := c.vars[name]; ok {
		return v, nil
	}
	if v, ok := constants[name]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%q is no variable", name)
}

var functions = map[string]func([]float64) float64{
	"sqrt": one(math.Sqrt), "abs": one(math.Abs), "sin": one(math.Sin), "cos": one(math.Cos), "tan": one(math.Tan),
	"ln": one(math.Log), "log": one(math.Log10), "exp": one(math.Exp),
	"floor": one(math.Floor), "ceil": one(math.Ceil), "round": one(math.Round),
	"min": fold(math.Min), "max": fold(math.Max),
}

// one lifts a function of one number; another count of arguments gives NaN.
func one(f func(float64) float64) func([]float64) float64 {
	return func(args []float64) float64 {
		if len(args) != 1 {
			return math.NaN()
		}
		return f(args[0])
	}
}

func fold(f func(a, b float64) float64) func([]float64) float64 {
	return func(args []float64) float64 {
		v := args[0]
		for _, w := range args[1:] {
			v = f(v, w)
		}
		return v
	}
}

func (c *calculator) call(name string) (float64, error) {
	f := functions[name]
	if f == nil {
		return 0, fmt.Errorf("%q is no function", name)
	}
	var args []float64
	for {
		v, err := c.sum()
		if err != nil {
			return 0, err
		}
		args = append(args, v)
		if c.take(",") == 0 {
			break
		}
	}
	if c.take(")") == 0 {
		return 0, fmt.Errorf("missing ) after %s", name)
	}
	return f(args), nil
}
