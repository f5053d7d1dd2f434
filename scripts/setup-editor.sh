#!/usr/bin/env bash
# Sets up a real VS Code for the editor tests: code-server, built from its npm package, plus Debian's Chromium and
# ripgrep. Takes about a minute and 320 MB; returns at once when DIR is ready.
#
#   scripts/setup-editor.sh DIR        tests look for .cache/editor, or for what IKBO_EDITOR names
#
# Afterwards DIR/bin/editor is the command line of code-server.
set -euo pipefail

version=4.100.3 # VS Code 1.100.3, the last one for Node 20
recipe=2        # raise it when the steps below change

dir=$(mkdir -p "${1:?usage: setup-editor.sh DIR}" && cd "$1" && pwd)
modules=$dir/node_modules
vscode=$modules/code-server/lib/vscode
stamp="code-server $version, node ABI $(node -p process.versions.modules), recipe $recipe"

if [[ -f $dir/ready && $(<"$dir/ready") == "$stamp" ]]; then
  echo "$dir is ready ($stamp)"
  exit 0
fi

install_debian_tools() {
  local packages=()
  command -v rg >/dev/null || packages+=(ripgrep)
  command -v chromium >/dev/null || packages+=(chromium)
  command -v g++ >/dev/null || packages+=(g++)
  command -v make >/dev/null || packages+=(make)
  command -v python3 >/dev/null || packages+=(python3)
  ((${#packages[@]} == 0)) && return
  command -v apt-get >/dev/null || {
    echo "please install: ${packages[*]}" >&2
    exit 1
  }
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

# Install scripts never run, since several of them download from elsewhere. The few native modules that the editor needs
# are compiled below instead.
npm_install() (
  cd "$1"
  shift
  npm install --ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error "$@" >/dev/null
)

compile() (
  cd "$1"
  shift
  "$@" --nodedir="$node_prefix" >compile.log 2>&1 || {
    tail -30 compile.log >&2
    exit 1
  }
)

install_debian_tools

rm -rf "$dir/ready" "$modules" "$dir/package-lock.json"
echo '{ "private": true }' >"$dir/package.json"
npm_install "$dir" "code-server@$version"
npm_install "$vscode"
npm_install "$vscode/extensions"

node=$(node -p process.execPath)
node_prefix=$(dirname "$(dirname "$node")") # its headers are in include/node
npm_config_node_gyp=$(dirname "$(realpath "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
export npm_config_node_gyp JOBS=max # read by node-pre-gyp and node-gyp
for module in @vscode/spdlog native-watchdog @vscode/native-watchdog node-pty; do
  [[ -d $vscode/node_modules/$module ]] || continue # the name depends on the version
  compile "$vscode/node_modules/$module" node "$npm_config_node_gyp" rebuild
done
if [[ ! -d $modules/argon2/prebuilds ]]; then
  compile "$modules/argon2" node ../@mapbox/node-pre-gyp/bin/node-pre-gyp rebuild
fi

# The links that code-server's own install script makes, and Debian's ripgrep.
ln -sfn node_modules "$vscode/node_modules.asar"
ln -sfn code-linux.sh "$vscode/bin/remote-cli/code-server"
ln -sfn browser-linux.sh "$vscode/bin/helpers/browser.sh"
mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
ln -sfn "$(command -v rg)" "$vscode/node_modules/@vscode/ripgrep/bin/rg"

mkdir -p "$dir/bin"
cat >"$dir/bin/editor" <<EOL
#!/bin/sh
exec "$node" "$modules/code-server/out/node/entry.js" --auth none --disable-telemetry \\
  --disable-update-check "\$@"
EOL
chmod +x "$dir/bin/editor"

echo "$stamp" >"$dir/ready"
echo "$dir is ready ($stamp, $(du -sh "$dir" | cut -f1))"
