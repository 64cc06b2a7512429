#!/bin/sh
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: example.com/v1
  kind: X
  # a comment
  metadata: {name: styles, namespace: default}
  spec:
    folded: >
      a b
      c

      d
    literal: |+
      x

    strip: |-
      y
    double: "a\tb\u00e9\n"
    single: 'it''s'
    flow: {a: [1, 2, {b: c}], d: }
    colon: 'a: b'
    hash: 'a #b'
    trail: 'x  '
    numbers: [1.0, 1e5, .5, 0x10, 012, 08, 0o7, 1_000, -0, +1, 1:30]
    words: [on, yes, Null, TRUE, ~]
    time: 2001-12-14t21:59:43.10-05:00
    empty: [{}, [], '']
    emoji: 😀
END
