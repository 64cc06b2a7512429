#!/bin/sh
sed 's/nginx:1/nginx:2/; s/^    k: v$/    k: w/'
