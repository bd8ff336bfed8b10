#!/bin/bash
set -e
awk '/^[0-9]/ && $3 == "[ERROR]" { sub(":", "", $4); count[$4]++ } END { for (m in count) print m, count[m] }' /app/app.log |
  LC_ALL=C sort -k2,2nr -k1,1 > /app/errors.txt
