package acctest

import (
	"math/big"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
)

// Life is a test of a noun, step by step, in this process.
func Life(steps ...resource.TestStep) resource.TestCase {
	return resource.TestCase{ProtoV6ProviderFactories: Factories(), Steps: steps}
}

// Exactly checks a number to its last decimal.
func Exactly(decimal string) knownvalue.Check {
	const precision = 512 // as Terraform's own
	number, _, err := big.ParseFloat(decimal, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return knownvalue.NumberExact(number)
}

// Saying matches errors in which these words come one after the other, wherever the
// CLI broke the lines.
func Saying(words ...string) *regexp.Regexp {
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = strings.Join(strings.Fields(regexp.QuoteMeta(word)), `\s+`)
	}
	return regexp.MustCompile(strings.Join(parts, `[\s\S]*`))
}
