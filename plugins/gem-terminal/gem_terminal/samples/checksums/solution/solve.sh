#!/bin/bash
set -e
cd /app/files
{
  while read -r sum name; do
    if [ ! -e "$name" ]; then echo "missing $name"
    elif [ "$(sha256sum < "$name" | cut -d' ' -f1)" = "$sum" ]; then echo "ok $name"
    else echo "changed $name"; fi
  done < ../SHA256SUMS
  for name in *; do cut -d' ' -f3- ../SHA256SUMS | grep -qxF "$name" || echo "unknown $name"; done
} | LC_ALL=C sort -k2 > /app/status.txt
