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
largest=$((28 * 1000 * 1000)) # of a binary, in bytes
unset VCARD_API_KEY VCARD_BASE_URL VCARD_SANDBOX TF_LOG
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
  others+=("${program}_$platform.tar.gz" "${program}_$platform.cdx.json")
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

echo "== Each archive holds the notices and the binary: static, stripped, small, with its parts told"
for zip in "${release}"_*.zip; do
  platform=${zip#"${release}_"} platform=${platform%.zip}
  exe=
  [[ $platform = windows_* ]] && exe=.exe
  binary=${name}_v$version$exe
  diff <(unzip -Z1 "$zip" | sort) <(printf '%s\n' NOTICES.txt "$binary" | sort) || fail "$zip holds other files"
  mkdir -p "$scratch/$platform" "$scratch/by-name/$platform"
  unzip -q "$zip" -d "$scratch/$platform"
  tar -C "$scratch/by-name/$platform" -xzf "${program}_$platform.tar.gz"
  mv "$scratch/$platform/$binary" "$scratch/$platform/vcard$exe"
  diff -r "$scratch/$platform" "$scratch/by-name/$platform" || fail "${program}_$platform.tar.gz holds something else than $zip"
  binary=$scratch/by-name/$platform/vcard$exe
  size=$(wc -c < "$binary")
  ((size <= largest)) || fail "$binary has $size bytes, more than $largest"
  built=$(go version -m "$binary")
  for setting in CGO_ENABLED=0 -trimpath=true "GOOS=${platform%_*}" "GOARCH=${platform#*_}"; do
    [[ $built = *"$setting"* ]] || fail "$binary was not built with $setting"
  done
  parts=("github.com/vcard/$name@v$version" "std@$(awk 'NR == 1 { print $2 }' <<< "$built")")
  while read -r module at; do
    grep -qF "=== $module $at" "$scratch/$platform/NOTICES.txt" || fail "$zip has no notice of $module $at"
    parts+=("$module@${at/+/%2B}")
  done < <(awk '$1 == "dep" { print $2, $3 }' <<< "$built")
  for part in "${parts[@]}"; do
    grep -qF "\"pkg:golang/$part\"" "${program}_$platform.cdx.json" || fail "the SBOM of $zip lacks $part"
  done
  printf '%-14s %8d bytes\n' "$platform" "$size"
done

here=$(go env GOOS)_$(go env GOARCH)
binary=$scratch/by-name/$here/vcard
said=$("$binary" -version)
[ "$said" = "vcard $version" ] || fail "-version says $said"

echo "== Another build, in another folder, is the same to the byte"
mkdir "$scratch/copy"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create) | tar -C "$scratch/copy" --extract
make --no-print-directory -C "$scratch/copy" build VERSION="$version"
cmp "$binary" "$scratch/copy/bin/$name"

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
PATH=$scratch/by-name/$here:$PATH "$root/internal/demo/demo.sh" "$cli"
