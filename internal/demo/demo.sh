#!/usr/bin/env bash
# The whole story of a few cards on the embedded sandbox: issue, fund, withdraw,
# freeze, terminate. Asks no registry and leaves nothing behind.
# usage: demo.sh PROVIDER_BINARY CLI
set -euo pipefail

binary=$(realpath "$1")
cli=$(command -v "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() {
  printf '\n$ %s\n' "${*/#$cli/$(basename "$cli")}"
  "$@"
}

# A mirror of the registry with the built provider alone, so that init is the real one.
platform="$(go env GOOS)_$(go env GOARCH)"
for host in registry.terraform.io registry.opentofu.org; do
  folder="$scratch/mirror/$host/vcard/vcard/0.0.1/$platform"
  mkdir -p "$folder"
  cp "$binary" "$folder/terraform-provider-vcard_v0.0.1"
done
cat > "$scratch/cli.tfrc" <<RC
provider_installation {
  filesystem_mirror {
    path = "$scratch/mirror"
  }
}
RC
export TF_CLI_CONFIG_FILE="$scratch/cli.tfrc" CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
unset VCARD_API_KEY VCARD_BASE_URL VCARD_SANDBOX

mkdir "$scratch/work"
cp "$root"/examples/quickstart/* "$scratch/work"
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
