package jsonvalue

import (
	"bytes"
	"math"
	"strconv"
)

const (
	// maxInteger is 2^53−1; up to this number a double distinguishes all integers.
	maxInteger = 1<<53 - 1
	// safeLength is how long a literal without exponent may be so that it certainly fits a double.
	safeLength = 300
)

// number reads a number and refuses one that a double cannot represent.
func (s *scanner) number() *Violation {
	start := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if v := s.digits(); v != nil {
		return v
	}
	integer, exponent := true, false
	if s.peek() == '.' {
		integer = false
		s.at++
		if v := s.digits(); v != nil {
			return v
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		integer, exponent = false, true
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if v := s.digits(); v != nil {
			return v
		}
	}
	literal := s.text[start:s.at]
	switch {
	case integer && !s.anyInteger:
		return boundInteger(literal)
	case exponent || len(literal) > safeLength:
		return boundDouble(literal)
	}
	return nil
}

// digits reads one or more decimal digits.
func (s *scanner) digits() *Violation {
	if !isDigit(s.peek()) {
		return s.unexpected()
	}
	for isDigit(s.peek()) {
		s.at++
	}
	return nil
}

func boundInteger(literal []byte) *Violation {
	const limit, limitDigits = "9007199254740991", 16
	digits := bytes.TrimPrefix(literal, []byte("-"))
	if len(digits) < limitDigits || len(digits) == limitDigits && string(digits) <= limit {
		return nil
	}
	return refuse("an integer must lie within ±(2^53−1), or it would be rounded; send a larger one as a string.")
}

func boundDouble(literal []byte) *Violation {
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return refuse("the number is too large for a double; send it as a string.")
	}
	if f == 0 && !isZero(literal) {
		return refuse("the number is too small for a double and would become 0; send it as a string.")
	}
	return nil
}

// isZero reports whether a literal stands for zero, because all digits before its exponent are zeros.
func isZero(literal []byte) bool {
	for _, c := range literal {
		if c == 'e' || c == 'E' {
			break
		}
		if c >= '1' && c <= '9' {
			return false
		}
	}
	return true
}

// double returns the value of a literal that was checked.
func double(literal []byte) float64 {
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		panic("jsonvalue: a number that was never checked: " + err.Error())
	}
	return f
}

// appendES6 writes a finite double as ECMAScript's Number::toString does, which is the number form of RFC 8785.
func appendES6(out []byte, f float64) []byte {
	if f == 0 {
		return append(out, '0') // −0 too
	}
	if magnitude := math.Abs(f); magnitude >= 1e-6 && magnitude < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	return appendExponent(out, f)
}

// appendDouble is appendES6, except that it writes integers that Check would refuse as literals with an exponent.
func appendDouble(out []byte, f float64) []byte {
	if magnitude := math.Abs(f); magnitude > maxInteger && magnitude < 1e21 {
		return appendExponent(out, f)
	}
	return appendES6(out, f)
}

func appendExponent(out []byte, f float64) []byte {
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	// Go pads the exponent to two digits, ECMAScript does not.
	if n := len(out); out[n-2] == '0' && !isDigit(out[n-3]) {
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
