package amount

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// mostDigits and mostExponent are more digits than any quantity has that somebody means, and than its exponent has.
const (
	mostDigits   = 100
	mostExponent = 3
)

// enormous is a number that costs much to read.
var enormous = regexp.MustCompile(
	fmt.Sprintf(`^[+-]?([0-9.]+[eE][+-]?[0-9]{%d,}$|[0-9.]{%d,})`, mostExponent, mostDigits),
)

// Costly says whether there is a number anywhere in a JSON object that takes minutes to read as a quantity, such as
// 1e99999999. API servers let none through, but anybody who reaches the port of a webhook may send one.
func Costly(object []byte) bool {
	return mayBeCostly(object) && isCostly(object)
}

// mayBeCostly is a quick look for many digits, for an exponent of many digits, and for characters that are written by
// their number.
func mayBeCostly(object []byte) bool {
	digits, most := 0, mostDigits
	for _, c := range object {
		switch {
		case '0' <= c && c <= '9', c == '.':
			if digits++; digits >= most {
				return true
			}
		case digits == 0 && (c == '+' || c == '-'): // of an exponent, perhaps
		case c == 'e', c == 'E':
			digits, most = 0, mostExponent
		default:
			digits, most = 0, mostDigits
		}
	}
	return bytes.Contains(object, []byte(`\u`))
}

// isCostly reads the object.
func isCostly(object []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // what cannot be read is not read
		}
		switch value := token.(type) {
		case string:
			if enormous.MatchString(value) {
				return true
			}
		case json.Number:
			if enormous.MatchString(value.String()) {
				return true
			}
		}
	}
}
