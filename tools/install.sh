#!/bin/sh
# Install packages into a virtual environment: tools/install.sh ENVIRONMENT ARGUMENTS, those of `pip install`.
#
# uv takes a third of the time that pip takes. It reads no settings of pip, so the index and the folders of wheels that
# pip has are passed on. Where uv cannot be had or fails, pip installs.
set -eu
bin=$1/bin
shift

install_with_uv() {
    "$bin/pip" install --quiet 'uv<1' || return 1
    settings=$("$bin/pip" config list |
        sed -n "s/^.*[.]index-url=/export UV_DEFAULT_INDEX=/p; s/^.*[.]find-links=/export UV_FIND_LINKS=/p") || return 1
    eval "$settings"
    "$bin/uv" pip install --quiet --python "$bin/python" "$@"
}

# pip would compile every file, two thirds of its time for the light environment: an import compiles what a trial needs.
install_with_uv "$@" || exec "$bin/pip" install --quiet --no-compile "$@"
