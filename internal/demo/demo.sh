#!/usr/bin/env bash
# The whole story of a few cards on the embedded sandbox, which begins with the world of
# examples/world.yaml: issue, fund, withdraw, freeze, take over, top up, terminate.
# Leaves nothing behind. TF_CLI_CONFIG_FILE says where the CLI
# finds the built provider; vcard is on PATH.
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

echo "== A sandbox with three cards that were used for four weeks"
"$cli" init -input=false -no-color > init.log || { cat init.log; exit 1; }
vcard sandbox --listen 127.0.0.1:0 --data vcard-sandbox.db --seed "$root/examples/world.yaml" > sandbox.env 2> sandbox.log &
until [ -s sandbox.env ]; do kill -0 $! && sleep 0.1; done
kill $!
wait $!

echo "== Three campaigns get a card each"
run "$cli" plan -input=false -no-color -out=plan
run "$cli" apply -input=false -no-color plan
echo "== A second plan finds nothing to do"
run "$cli" plan -input=false -no-color -detailed-exitcode

echo "== Next week: fund search, withdraw from social, freeze display"
run "$cli" plan -input=false -no-color -var-file=next-week.tfvars -out=plan
run "$cli" apply -input=false -no-color plan
run "$cli" plan -input=false -no-color -var-file=next-week.tfvars -detailed-exitcode

echo "== Two of the cards that were there: take them over, and top up the one that is low"
cp "$root/internal/demo/fleet.tf" .
run "$cli" import -input=false -no-color -var-file=next-week.tfvars 'vcard_card.fleet["search-ads"]' card_0ncn72jz8bfp7zp6c2u2uebk
run "$cli" import -input=false -no-color -var-file=next-week.tfvars 'vcard_card.fleet["display-ads"]' card_0kc6j646mkq4yeckqhb7vnnm
run "$cli" plan -input=false -no-color -var-file=next-week.tfvars -out=plan
"$cli" show -json plan | run vcard statement -
run "$cli" apply -input=false -no-color plan

echo "== The end: every card is terminated, its balance returns to the wallet"
run "$cli" destroy -input=false -no-color -auto-approve -var-file=next-week.tfvars
printf '\nDone: cards issued, funded, frozen, topped up and terminated; none of them is left.\n'
printf 'To watch it in a browser: bin/vcard sandbox --seed examples/world.yaml serves a dashboard, and prints the link to it.\n'
