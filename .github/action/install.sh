#!/usr/bin/env bash
# Install Rightcall as it is in the checkout of the action, so that the version of the action is that of the tool.
set -euo pipefail
python -m pip install --quiet --disable-pip-version-check "${GITHUB_ACTION_PATH}${EXTRAS:+[${EXTRAS}]}"
if [ -n "${REQUIREMENTS}" ]; then
  if [ -f "${REQUIREMENTS}" ]; then
    python -m pip install --quiet --disable-pip-version-check --requirement "${REQUIREMENTS}"
  else
    # Words are packages, as on the command line of pip.
    read -ra packages <<<"${REQUIREMENTS}"
    python -m pip install --quiet --disable-pip-version-check "${packages[@]}"
  fi
fi
