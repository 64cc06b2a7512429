#!/usr/bin/env bash
# {{.Name}} makes a ConfigMap that has the message of its configuration.
#
# krmflow wrap is the function around this script: it sets the variables that --env names, NAME to metadata.name and MESSAGE to spec.message, and merges
# the resources that are printed here into the list. stdin has the list. A field that --env does not name is in KUST_FUNCTION_CONFIG only.
set -euo pipefail
if [ -z "${WRAPPED:-}" ]; then
  export WRAPPED=true
  exec krmflow wrap --env NAME,MESSAGE -- "$0"
fi

if [ -z "${MESSAGE:-}" ]; then
  echo 'spec.message must not be empty' >&2
  exit 1
fi
cat <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: $NAME
data:
  message: |-
$(printf '%s\n' "$MESSAGE" | sed 's/^/    /')
END
