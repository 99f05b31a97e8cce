#!/usr/bin/env bash
# npm run test:container
#
# Builds the Dockerfile with Debian's buildah, and does with the image what .ci/check-build does with the layout: as user
# `node`, from a read-only root, without capabilities. It needs root, buildah and 5 GB. NODE_IMAGE names the base image;
# `debootstrap` makes one of Debian and Node's npm package, for machines that reach no registry of images.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo 'run it as root: chroot and mounts need it' >&2; exit 1; }
folder=$(mktemp -d)
image() { buildah --root "$folder/images" --runroot "$folder/run" --storage-driver "${STORAGE_DRIVER:-overlay}" "$@"; }
cleanup() {
  image rm --all >/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

# Debian and Node in place of the image that the Dockerfile names.
make_base() {
  local version=$1 suite=$2 base npm_version
  image from --quiet --name base scratch >/dev/null
  base=$(image mount base)
  debootstrap --variant=minbase "$suite" "$base" http://deb.debian.org/debian >/dev/null
  (cd "$folder" && npm pack --silent "node-linux-$(node -p process.arch)@$version" >node.txt && tar xzf "$(cat node.txt)")
  cp -a "$folder"/package/{bin,include} "$base/usr/local/"
  chmod +x "$base/usr/local/bin/node"
  cp -a "$(npm root -g)/npm" "$folder/npm"
  mkdir -p "$base/usr/local/lib/node_modules"
  mv "$folder/npm" "$base/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$base/usr/local/bin/npm"
  # A registry behind a proxy may use a certificate that only this machine knows.
  mkdir -p "$base/etc/ssl/certs"
  [ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
  [ ! -f ~/.npmrc ] || grep -v '^nodedir' ~/.npmrc >"$base/root/.npmrc" || true
  chroot "$base" useradd --uid 1000 --create-home node
  image config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt base
  image commit --quiet --rm base localhost/node >/dev/null
}

if [ "${NODE_IMAGE:-debootstrap}" = debootstrap ]; then
  named=$(sed -n 's/^ARG NODE_IMAGE=node:\([0-9.]*\)-\([a-z]*\)-slim$/\1 \2/p' Dockerfile)
  # shellcheck disable=SC2086
  make_base $named
  NODE_IMAGE=localhost/node
fi
image build --quiet --isolation chroot --build-arg "NODE_IMAGE=$NODE_IMAGE" \
  --build-arg "REVISION=$(git rev-parse HEAD)" --target service --tag localhost/arcus . >"$folder/build.txt" 2>&1 || {
  tail -n 60 "$folder/build.txt" >&2
  exit 1
}
image images --format '{{.Name}} {{.Size}}'
image inspect --type image localhost/arcus |
  node -e "const { User, Entrypoint, Cmd } = JSON.parse(require('fs').readFileSync(0)).OCIv1.config
    const said = [User, Entrypoint, Cmd].flat().join(' ')
    if (said !== 'node arcus serve') throw new Error('the image starts as ' + said)"

root=$(image mount "$(image from --pull-never localhost/arcus)")
echo "its folder has $(du -sm "$root/arcus" | cut -f 1) MB, its bill of materials $(grep -c '"purl"' "$root/arcus/sbom.cdx.json") parts"
# An engine gives each container this file.
echo '127.0.0.1 localhost' >"$root/etc/hosts"
cat >"$folder/arcus" <<RUN
#!/bin/sh
# arcus FOLDER WORDS...: runs a verb in the image, with FOLDER as its working directory.
work=\$1
shift
exec unshare --mount sh -c '
  mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
  mount --bind "\$1" "$root/mnt" && mount -o remount,ro,bind "$root" && mount -t tmpfs tmpfs "$root/tmp" && shift &&
  exec chroot "$root" setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    sh -c "cd /mnt && exec arcus \"\\\$@\"" arcus "\$@"' sh "\$work" "\$@"
RUN
chmod +x "$folder/arcus"
node_modules/.bin/tsx scripts/check-layout.ts "$folder/arcus" '{}'
