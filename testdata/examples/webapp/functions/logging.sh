#!/bin/sh
# Tells every container the format of its log: example.com/v1 Logging.
list=$(cat)
format=$(printf '%s\n' "$list" | sed -n '/^functionConfig:/,$s/^    format: *//p')
printf '%s\n' "$list" | sed "s/^\( *\)- image: .*/&\n\1  env:\n\1  - {name: LOG_FORMAT, value: $format}/"
