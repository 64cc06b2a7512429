#!/bin/sh
sed 's/^    name: gen-s$/    name: renamed/; s/^    name: gen$/    name: renamed/; s/^    name: m2-s$/    name: m9/'
