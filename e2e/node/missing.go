package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pluginsFolder is where Debian's containernetworking-plugins are.
const pluginsFolder = "/usr/lib/cni"

// Missing returns what this machine lacks to run a node, in words.
func Missing() []string {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, program := range []string{"containerd", "ctr", "runc", "ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	for _, plugin := range []string{"bridge", "host-local", "loopback"} {
		path := filepath.Join(pluginsFolder, plugin)
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, fmt.Sprintf("CNI plugin %s", path))
		}
	}
	return missing
}
