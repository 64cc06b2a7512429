#!/bin/sh
sed 's/^    k: v$/    k: w/'
