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

// Memory returns the most memory that a process has had, and what it has now, in MiB; 0 if it is not there.
func Memory(pid int) (peak, now float64) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0
	}
	status, err := process.NewStatus()
	if err != nil {
		return 0, 0
	}
	return float64(status.VmHWM) / (1 << 20), float64(status.VmRSS) / (1 << 20)
}
