#!/bin/sh
# Sees to what the browser tests need: Debian's Chromium, where it may be installed and no browser is there, and
# axe-core in the folder that is named. What cannot be had is told in one line; the tests say what it costs.
axe=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

find_browser() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    [ -n "$RIGHTCALL_BROWSER" ]
}

install_browser() {
    if ! command -v apt-get >/dev/null; then
        echo "there is no browser, and no apt-get to install Chromium with"
    elif ! as_root true 2>/dev/null; then
        echo "there is no browser, and only root may install Chromium"
    elif ! { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1 </dev/null; then
        echo "there is no browser, and apt-get could not install Chromium: $(tail -n 1 "$log")"
    fi
}

install_axe() {
    if ! command -v npm >/dev/null; then
        echo "there is no npm to install axe-core with"
    elif ! npm install --prefix "$axe" --no-save --no-audit --no-fund --loglevel=error axe-core@4 >"$log" 2>&1 </dev/null; then
        echo "npm could not install axe-core: $(tail -n 1 "$log")"
    fi
}

find_browser || install_browser
[ -f "$axe/node_modules/axe-core/axe.min.js" ] || install_axe
exit 0
