#!/bin/bash
set -e
cd /app
awk -F'[\t,]' '
  FNR == 1 { next }
  NR == FNR { city[$1] = $3; next }
  !($2 in city) { print $1 > "orphans.txt"; next }
  $4 == "sent" { count[city[$2]]++; grams[city[$2]] += $3 }
  END { for (name in count) printf "%s,%d,%.3f\n", name, count[name], grams[name] / 1000 }
' customers.tsv shipments.csv | LC_ALL=C sort > by_city.tmp
{ echo city,shipments,kilograms; cat by_city.tmp; } > by_city.csv
rm by_city.tmp
