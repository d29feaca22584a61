#!/usr/bin/env bash
# Checks what a release would publish, and uses it as its users do: from a mirror of
# the zips, with a real init. Leaves nothing behind.
# usage: check.sh FOLDER VERSION CLI
set -euo pipefail

folder=$(cd "$1" && pwd)
version=$2
cli=$(command -v "$3")
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

name=terraform-provider-vcard
release=${name}_$version program=vcard_$version
unset VCARD_API_KEY VCARD_BASE_URL VCARD_SANDBOX VCARD_SANDBOX_API_KEY TF_LOG
export CHECKPOINT_DISABLE=1

fail() {
  printf 'check.sh: %s\n' "$*" >&2
  exit 1
}

echo "== The files that the registry reads, the others, and their sums"
cd "$folder"
registry=("${release}_manifest.json") others=("${program}_sandbox_oci.tar")
for platform in {linux,darwin,windows}_{amd64,arm64}; do
  registry+=("${release}_$platform.zip")
  others+=("${program}_$platform.tar.gz" "${program}_$platform.cdx.json" "${program}_provider_$platform.cdx.json")
done
# names SUMS FILE...: they are what the sums name.
names() {
  diff <(awk '{ print $2 }' "$1" | sort) <(printf '%s\n' "${@:2}" | sort) || fail "$1 names other files"
  sha256sum --check --quiet "$1"
  # Attestations and signatures are of these files, which name all others.
  [ -z "${GPG_FINGERPRINT-}" ] ||
    gpg --status-fd 1 --verify "$1.sig" "$1" 2> /dev/null | grep -q "^\[GNUPG:\] VALIDSIG .*$GPG_FINGERPRINT" ||
    fail "$1 is not signed by the release key"
}
names "${release}_SHA256SUMS" "${registry[@]}"
names "${program}_SHA256SUMS" "${others[@]}"

# check_binary FOLDER BINARY PLATFORM SBOM: the notices beside it and its SBOM name all its parts.
check_binary() {
  local folder=$1 binary=$1/$2 platform=$3 sbom=$4 built setting module at part
  diff <(ls "$folder" | sort) <(printf '%s\n' NOTICES.txt "$2" | sort) || fail "the archive of $2 for $platform holds other files"
  built=$(go version -m "$binary")
  for setting in CGO_ENABLED=0 -trimpath=true "GOOS=${platform%_*}" "GOARCH=${platform#*_}"; do
    [[ $built = *"$setting"* ]] || fail "$binary was not built with $setting"
  done
  local parts=("github.com/vcard/$name@v$version" "std@$(awk 'NR == 1 { print $2 }' <<< "$built")")
  while read -r module at; do
    grep -qF "=== $module $at" "$folder/NOTICES.txt" || fail "$folder has no notice of $module $at"
    parts+=("$module@${at/+/%2B}")
  done < <(awk '$1 == "dep" { print $2, $3 }' <<< "$built")
  for part in "${parts[@]}"; do
    grep -qF "\"pkg:golang/$part\"" "$sbom" || fail "$sbom lacks $part"
  done
  printf '%-14s %-40s %9d bytes\n' "$platform" "$2" "$(wc -c < "$binary")"
}

echo "== Each archive holds the notices and a static binary, whose SBOM lists its parts"
for platform in {linux,darwin,windows}_{amd64,arm64}; do
  exe=
  [[ $platform = windows_* ]] && exe=.exe
  mkdir -p "$scratch/provider/$platform" "$scratch/vcard/$platform"
  unzip -q "${release}_$platform.zip" -d "$scratch/provider/$platform"
  tar -C "$scratch/vcard/$platform" -xzf "${program}_$platform.tar.gz"
  check_binary "$scratch/provider/$platform" "${name}_v$version$exe" "$platform" "${program}_provider_$platform.cdx.json"
  check_binary "$scratch/vcard/$platform" "vcard$exe" "$platform" "${program}_$platform.cdx.json"
done

here=$(go env GOOS)_$(go env GOARCH)
provider=$scratch/provider/$here/${name}_v$version vcard=$scratch/vcard/$here/vcard
said=$("$provider" -version)
[ "$said" = "$name $version" ] || fail "the provider's -version prints $said"
said=$("$vcard" version)
[ "$said" = "vcard $version" ] || fail "vcard version prints $said"

echo "== Another build, in another folder, is the same to the byte"
mkdir "$scratch/copy"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create) | tar -C "$scratch/copy" --extract
make --no-print-directory -C "$scratch/copy" build VERSION="$version"
cmp "$provider" "$scratch/copy/bin/$name"
cmp "$vcard" "$scratch/copy/bin/vcard"

echo "== From a mirror of the zips, init installs it and writes the lock file"
for host in registry.terraform.io registry.opentofu.org; do
  mkdir -p "$scratch/mirror/$host/vcard/vcard"
  cp "${release}"_*.zip "$scratch/mirror/$host/vcard/vcard"
done
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$scratch/mirror" > "$scratch/cli.tfrc"
export TF_CLI_CONFIG_FILE=$scratch/cli.tfrc HOME=$scratch/home # nothing of whoever runs this
mkdir "$scratch/locked"
cp "$root/examples/quickstart/main.tf" "$scratch/locked"
"$cli" -chdir="$scratch/locked" init -input=false -no-color > "$scratch/init.log" || { cat "$scratch/init.log"; exit 1; }
grep -q "\"$version\"" "$scratch/locked/.terraform.lock.hcl" || fail "the lock file does not name $version"
[ "$(grep -c 'zh:\|h1:' "$scratch/locked/.terraform.lock.hcl")" -gt 0 ] || fail 'the lock file holds no hash'
PATH=$scratch/vcard/$here:$PATH "$root/internal/demo/demo.sh" "$cli" "$scratch/demo"
