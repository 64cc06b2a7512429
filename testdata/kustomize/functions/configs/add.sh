#!/bin/sh
sed "s/^    seen: .*/&-$#:$1:$2/"
