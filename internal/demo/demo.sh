#!/usr/bin/env bash
# The whole story of a few cards on the embedded sandbox: issue, fund, withdraw,
# freeze, terminate. Leaves nothing behind. TF_CLI_CONFIG_FILE says where the CLI
# finds the built provider.
# usage: demo.sh CLI
set -euo pipefail

cli=$(command -v "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() {
  printf '\n$ %s\n' "${*/#$cli/$(basename "$cli")}"
  "$@"
}

export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
unset VCARD_API_KEY VCARD_BASE_URL VCARD_SANDBOX

mkdir "$scratch/work"
cp "$root"/examples/quickstart/*.tf* "$scratch/work"
cd "$scratch/work"

echo "== Three campaigns get a card each"
run "$cli" init -input=false -no-color
run "$cli" plan -input=false -no-color -out=plan
run "$cli" apply -input=false -no-color plan
echo "== A second plan finds nothing to do"
run "$cli" plan -input=false -no-color -detailed-exitcode

echo "== Next week: fund search, withdraw from social, freeze display"
run "$cli" plan -input=false -no-color -var-file=next-week.tfvars -out=plan
run "$cli" apply -input=false -no-color plan
run "$cli" plan -input=false -no-color -var-file=next-week.tfvars -detailed-exitcode

echo "== The end: every card is terminated, its balance returns to the wallet"
run "$cli" destroy -input=false -no-color -auto-approve -var-file=next-week.tfvars
printf '\nDone: cards issued, funded, frozen and terminated; nothing is left.\n'
printf 'To watch it in a browser: terraform-provider-vcard sandbox serves a dashboard, and prints the link to it.\n'
