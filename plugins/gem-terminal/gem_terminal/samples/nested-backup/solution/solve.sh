#!/bin/bash
set -e
cd /app/backups
for archive in $(ls | sort -r); do
  tar -xzOf "$archive" home.tar | tar -xOf - home/ledger.txt > /app/ledger.txt
  if [ -s /app/ledger.txt ]; then
    echo "$archive" | sed 's/backup-//; s/.tar.gz//' > /app/date.txt
    break
  fi
done
