#!/usr/bin/env bash
# Prints the version of this checkout. A commit with a tag has the tag's. Any
# other has one patch more for each commit since the last tag, or since 0.1.0 when
# there is none, so that init takes what was built from it for a new version.
# Without git, as from a tarball, it is 0.1.0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# In somebody else's repository, the way up to its root is not empty.
if ! root=$(git rev-parse --show-cdup 2>/dev/null) || [ -n "$root" ] || ! git rev-parse --quiet --verify HEAD >/dev/null; then
  echo 0.1.0
  exit
fi
tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' --exclude '*-*' 2>/dev/null || echo v0.1.0)
since=$(git rev-list --count HEAD "^$tag" 2>/dev/null || git rev-list --count HEAD)
IFS=. read -r major minor patch <<<"${tag#v}"
echo "$major.$minor.$((patch + since))"
