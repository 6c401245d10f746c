#!/bin/sh
# Runs the command given, and fails if it changed a file of the work tree: somebody forgot to generate, format or tidy.
# It compares the tree before and after, so that it also tells a developer with uncommitted work.
set -eu

index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT

# tree prints the id of the work tree as git would commit it, without touching the developer's index.
tree() {
	cp "$(git rev-parse --git-path index)" "$index/index"
	GIT_INDEX_FILE=$index/index git add --all
	GIT_INDEX_FILE=$index/index git write-tree
}

before=$(tree)
"$@"
after=$(tree)

if [ "$before" != "$after" ]; then
	echo "verify: these files were not up to date (they are now: look at them and commit them):" >&2
	git diff --stat "$before" "$after" >&2
	if [ "${CI:-}" = true ]; then
		git diff "$before" "$after" >&2
	fi
	exit 1
fi
if [ "${CI:-}" = true ] && [ -n "$(git status --porcelain)" ]; then
	echo "verify: the tree is not clean:" >&2
	git status --porcelain >&2
	exit 1
fi
