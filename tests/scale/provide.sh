#!/bin/sh
# Sees to the Java that Spark needs: Debian's, where it may be installed and none is there. What cannot be had is told
# in one line; the tests say what it costs.
log=$(mktemp)
trap 'rm -f "$log"' EXIT

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_java() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$1"
}

if [ -x "$JAVA_HOME/bin/java" ] || command -v java >/dev/null; then
    exit 0
elif ! command -v apt-get >/dev/null; then
    echo "there is no Java, and no apt-get to install it with"
elif ! as_root true 2>/dev/null; then
    echo "there is no Java, and only root may install it"
elif ! { as_root apt-get update -qq && { install_java openjdk-17-jre-headless || install_java default-jre-headless; }; } \
    >"$log" 2>&1 </dev/null; then
    echo "there is no Java, and apt-get could not install it: $(tail -n 1 "$log")"
fi
exit 0
