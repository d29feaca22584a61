#!/usr/bin/env bash
# The life of a few cards on the embedded sandbox, which starts with the world of examples/world.yaml:
# issue, fund, withdraw, freeze, import, top up, terminate. Of each step it prints the statement and
# the result, and keeps the whole plan and apply in FOLDER.
# TF_CLI_CONFIG_FILE says where the CLI finds the built provider; vcard is on PATH.
# usage: demo.sh CLI FOLDER
set -euo pipefail

cli=$(command -v "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$folder"

export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_CLI_ARGS=-no-color TF_INPUT=0
unset VCARD_API_KEY VCARD_BASE_URL VCARD_SANDBOX VCARD_SANDBOX_API_KEY

# quietly FILE COMMAND...: keeps what the command prints, and shows it only if it fails.
quietly() {
  local file=$1
  shift
  "$@" > "$file" 2>&1 || { cat "$file"; exit 1; }
}

# step NAME TITLE ARGUMENTS...: plans with the arguments, states what it costs, applies it.
step() {
  local name=$1
  printf '\n== %s\n\n' "$2"
  shift 2
  quietly "$name-plan.txt" "$cli" plan -out="$name.tfplan" "$@"
  "$cli" show -json "$name.tfplan" > "$name.json"
  vcard statement "$name.json"
  quietly "$name-apply.txt" "$cli" apply "$name.tfplan"
  printf '\n'
  grep -E '^(Apply|Destroy) complete!' "$name-apply.txt"
}

printf '== A sandbox with three cards that were used for four weeks\n'
cp "$root"/examples/quickstart/*.tf* .
quietly init.txt "$cli" init
vcard sandbox --listen 127.0.0.1:0 --data vcard-sandbox.db --seed "$root/examples/world.yaml" > sandbox.env 2> sandbox.log &
until [ -s sandbox.env ]; do kill -0 $! && sleep 0.1; done
kill $!
wait $!

step 1-issue 'Three campaigns get a card each'
quietly 1-again.txt "$cli" plan -detailed-exitcode
printf 'A second plan finds nothing to do.\n'

step 2-change 'Next week: fund search, withdraw from social, freeze display' -var-file=next-week.tfvars

cp "$root/internal/demo/fleet.tf" .
quietly 3-import.txt "$cli" import -var-file=next-week.tfvars 'vcard_card.fleet["search-ads"]' card_0ncn72jz8bfp7zp6c2u2uebk
quietly 3-import.txt "$cli" import -var-file=next-week.tfvars 'vcard_card.fleet["display-ads"]' card_0kc6j646mkq4yeckqhb7vnnm
step 3-import 'Import two of the cards that were there, and top up the one that is low' -var-file=next-week.tfvars

step 4-end 'The end: every card is terminated, and its balance returns to the wallet' -destroy -var-file=next-week.tfvars

printf '\nThe plans, and what apply printed, are in %s.\n' "$folder"
printf 'To watch it in a browser: bin/vcard sandbox --seed examples/world.yaml serves a dashboard, and prints the link to it.\n'
