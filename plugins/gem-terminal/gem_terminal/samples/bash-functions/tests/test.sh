#!/bin/bash
mkdir -p /logs/verifier
cat > /tmp/cases.sh <<'END'
set -eu
cd /
separator=s word=w result=r best=b number=n text=t item=i
before=$(declare -p separator word result best number text item; set +o; pwd)
. /app/lib.sh
expect() { if [ "$1" != "$2" ]; then echo "got '$1', expected '$2'"; exit 1; fi; }
refuse() { if "$@"; then echo "succeeded: $*"; exit 1; fi; }
tab=$(printf '\t')
expect "$(trim "  a  b$tab ")" "a  b"
expect "$(trim "$tab*")" "*"
expect "$(trim "")" ""
expect "$(trim " -n ")" "-n"
expect "$(join , a "b c" d)" "a,b c,d"
expect "$(join ' / ' '*')" "*"
expect "$(join -)" ""
expect "$(join '' a b)" "ab"
contains b a b c
contains "a b" c "a b"
refuse contains b ab "b c"
refuse contains . a
refuse contains a
expect "$(max 3 12 7)" 12
expect "$(max -5 -12)" -5
expect "$(max 0)" 0
expect "$(max || echo failed)" failed
trim x > /dev/null; join , x > /dev/null; contains x x; max 1 > /dev/null
expect "$(declare -p separator word result best number text item; set +o; pwd)" "$before"
echo passed
END
if [ "$(bash /tmp/cases.sh 2>&1 | tail -1)" = passed ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
