//go:build !race

package modeltest_test

const usualMoves = enoughMoves
