// Package attack holds, for tests alone, what hostile logs and hostile callers
// try against every surface of the product: to see what is not theirs
// (world_test.go, oracle_test.go), to be taken for the product's own words
// (text_test.go). It has no product code.
package attack
