//go:build !unix

package command

// maxFiles is how many files the process may have open.
func maxFiles() int { return maxConnections + otherFiles }
