#!/bin/sh
grep -q 'k: w' && printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n'
