#!/usr/bin/env bash
# Prints the licences and notices of Go and of every module in the binaries, for all
# systems that a release is for. A module without a licence ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# One line for each folder that may hold a notice: module, version, folder.
folders() {
  printf 'Go\t%s\t%s\n' "$(go env GOVERSION)" "$(go env GOROOT)"
  for os in linux darwin windows; do
    GOOS=$os CGO_ENABLED=0 go list -deps -tags grpcnotrace -f \
      '{{$dir := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}}	{{.Version}}	{{.Dir}}{{"\n"}}{{.Path}}	{{.Version}}	{{$dir}}{{end}}{{end}}' . ./internal/cmd/vcard
  done | grep . | sort -u
}

printf 'The binaries of this release contain the modules below. Each module has its source at\nhttps://proxy.golang.org/MODULE/@v/VERSION.zip.\n'
last=
licensed=yes
while IFS=$'\t' read -r module version folder; do
  if [ "$module" != "$last" ]; then
    [ $licensed = yes ] || { echo "$last has no licence" >&2; exit 1; }
    last=$module licensed=
    printf '\n\n=== %s %s\n' "$module" "$version"
  fi
  while IFS= read -r notice; do
    licensed=yes
    printf '\n--- %s\n\n' "${notice##*/}"
    cat "$notice"
  done < <(find "$folder" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) ! -name '*.go' | sort)
done < <(folders)
[ $licensed = yes ] || { echo "$last has no licence" >&2; exit 1; }
