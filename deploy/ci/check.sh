#!/usr/bin/env bash
# Runs `edgekiln check` in a CI job. github/action.yml and gitlab/edgekiln.yml
# call it. Everything comes in variables, so that no input is read as shell:
#
#   EK_CHECK_FILE      project file or its folder (edgekiln.txtpb)
#   EK_CHECK_PROGRAM   the command (edgekiln)
#   EK_CHECK_SERVER    address of a daemon; empty: one is started here
#   EK_CHECK_REPORTS   folder for junit.xml, check.sarif, check.md
#                      (edgekiln-reports)
#   EK_CHECK_TIMEOUT   give up after this long; empty: never
#   EK_CHECK_UPDATE    "true": also write baselines, for a job that commits them
#   EK_CHECK_GITHUB    "true": annotations, job summary and outputs of GitHub
#
# The exit code is that of the command: 0 passed, 1 a model cannot be used, 2 the
# project or this job is wrong, 3 something is broken, 4 the service failed.
set -uo pipefail

file=${EK_CHECK_FILE:-edgekiln.txtpb}
program=${EK_CHECK_PROGRAM:-edgekiln}
reports=${EK_CHECK_REPORTS:-edgekiln-reports}
github=${EK_CHECK_GITHUB:-false}

fail() {
  echo "check.sh: $1" >&2
  exit 2
}

# Lines are how GitHub tells outputs apart.
case $reports in
  *$'\n'*) fail "EK_CHECK_REPORTS has a line end in it" ;;
esac
# No name is an option.
case $file in -*) file=./$file ;; esac
case $reports in -*) reports=./$reports ;; esac
command -v -- "$program" >/dev/null || fail "there is no program '$program'"
mkdir -p -- "$reports" || fail "the folder '$reports' cannot be made"
# What an earlier run has left is not this one's.
rm -f -- "$reports/junit.xml" "$reports/check.sarif" "$reports/check.md"

arguments=(check "$file" --junit "$reports/junit.xml"
  --sarif "$reports/check.sarif" --markdown "$reports/check.md")
[ -z "${EK_CHECK_SERVER:-}" ] || arguments+=(--server "$EK_CHECK_SERVER")
[ -z "${EK_CHECK_TIMEOUT:-}" ] || arguments+=(--timeout "$EK_CHECK_TIMEOUT")
[ "${EK_CHECK_UPDATE:-false}" != true ] || arguments+=(--update-baselines)
[ "$github" != true ] || arguments+=(--github-annotations)

"$program" "${arguments[@]}"
code=$?

if [ "$github" = true ]; then
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$reports/check.md" ]; then
    # GitHub refuses a summary above 1 MiB.
    head -c 1000000 -- "$reports/check.md" >>"$GITHUB_STEP_SUMMARY"
  fi
  if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf '%s\n' "exit-code=$code" "junit=$reports/junit.xml" \
      "sarif=$reports/check.sarif" "markdown=$reports/check.md" \
      >>"$GITHUB_OUTPUT"
  fi
fi
exit "$code"
