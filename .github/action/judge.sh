#!/usr/bin/env bash
# Run the command, and make of its run a summary of the step, a comment and one HTML file. The exit code is an output:
# the steps after this one are wanted most when it is not 0.
set -uo pipefail
folder="${RUNNER_TEMP:?}/rightcall"
mkdir -p "$folder"
read -ra words <<<"${COMMAND}"
# `score` keeps its results only if it is asked to, and the report is made of what is kept.
if [ "${words[0]:-}" = score ]; then words+=(--keep); fi

rightcall "${words[@]}"
code=$?

baseline=()
if [ -n "${BASELINE}" ]; then baseline=(--baseline "${BASELINE}"); fi
if rightcall report last "${baseline[@]}" --format github \
  --format "markdown=$folder/comment.md" --format "html=$folder/report.html" --format "junit=$folder/junit.xml"; then
  echo "report=$folder/report.html" >>"${GITHUB_OUTPUT:?}"
else
  # There is no run to report: what the command printed says why, and it must not look like a success.
  printf '## Rightcall\n\n`rightcall %s` ended with %s before it had results; the log of the step says why.\n' \
    "${words[*]}" "$code" | tee "$folder/comment.md" >>"${GITHUB_STEP_SUMMARY:?}"
  if [ "$code" = 0 ]; then code=2; fi
fi
{
  echo "folder=$folder"
  echo "exit-code=$code"
} >>"${GITHUB_OUTPUT:?}"
