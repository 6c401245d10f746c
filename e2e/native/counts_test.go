//go:build e2e

package native_test

func counts() []row { return nil }
func scopes() []row { return nil }
func features() []row { return nil }
func (w *world) complete() {}
func writePage(all []row, seen map[string]sight) error { return nil }
