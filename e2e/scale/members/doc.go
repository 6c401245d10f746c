// Package members plays members for a hub at size: thousands of light ones in one process. Each has an address,
// certificates and connections of its own, serves over HTTPS what the hub manager asks an API server for, and has an
// agent that answers a share as the real one does. Nothing of it judges anything: guard, fence and admission are not
// played.
//
// A test with the tag e2e holds it against members that are real control planes with real agents.
package members
