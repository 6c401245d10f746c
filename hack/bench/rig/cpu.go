package rig

import "github.com/prometheus/procfs"

// CPUSeconds returns how many seconds of CPU processes have used, without those that are not there.
func CPUSeconds(pids ...int) (seconds float64) {
	for _, pid := range pids {
		process, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		if stat, err := process.Stat(); err == nil {
			seconds += stat.CPUTime()
		}
	}
	return seconds
}
