#!/bin/sh
printf 'apiVersion: config.kubernetes.io/v1\r\nkind: ResourceList\r\nitems:\r\n- apiVersion: v1\r\n  kind: ConfigMap\r\n  metadata:\r\n    name: crlf\r\n'
