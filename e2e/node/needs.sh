#!/bin/sh
# needs.sh prints what this machine lacks to run a node, a line each.
set -eu
[ "$(id -u)" = 0 ] || echo root
for program in containerd ctr runc ip iptables; do
	command -v "$program" >/dev/null || echo "$program"
done
for plugin in bridge host-local loopback; do
	[ -x "/usr/lib/cni/$plugin" ] || echo "/usr/lib/cni/$plugin"
done
