package shares

import (
	"fmt"
	"strings"
)

// namesLimit is how many children a message names before it only counts them.
const namesLimit = 5

// Abbreviated joins sorted names, counting those after the first few.
func Abbreviated(names []string) string {
	if len(names) <= namesLimit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesLimit], ", "), len(names)-namesLimit)
}
