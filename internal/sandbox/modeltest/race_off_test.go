//go:build !race

package modeltest_test

const usualMoves = 10_000
