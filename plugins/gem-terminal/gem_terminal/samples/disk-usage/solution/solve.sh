#!/bin/bash
set -e
cd /app/data
find . -type f -printf '%s\t%P\n' | sort -rn | head -5 | cut -f2 > /app/largest.txt
find . -mindepth 2 -type f -printf '%s\t%P\n' |
  awk -F'\t' '{ split($2, parts, "/"); sum[parts[1]] += $1 } END { for (name in sum) print sum[name] "\t" name }' |
  sort -rn > /app/folders.txt
