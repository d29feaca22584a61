//go:build race

package modeltest_test

// usualMoves is less where every move takes many times as long.
const usualMoves = 2 * movesPerTrial
