// Package native shows each name and each scope of a native ResourceQuota, and what changes a charge, with real objects
// in two members: charged, refused at the limit, moved by demand, released. What it saw becomes
// docs/evidence/native.md (make native).
package native
