#!/bin/sh
# The last resources first, with a new one in between and without m1.
awk '
/^functionConfig:/ { tail = 1 }
tail { rest = rest $0 "\n"; next }
/^items:/ { head = head $0 "\n"; inside = 1; next }
!inside { head = head $0 "\n"; next }
/^- / { n++ }
{ item[n] = item[n] $0 "\n" }
END {
  printf "%s", head
  for (i = n; i > 0; i--) {
    if (item[i] !~ /name: m1/) printf "%s", item[i]
    if (i == 3) print "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: new"
  }
  printf "%s", rest
}'
