#!/bin/bash
mkdir -p /logs/verifier
cd /app/shop
git() { command git -c safe.directory='*' -c core.fsmonitor=false "$@"; }
parents=$(git rev-list --parents -1 main | wc -w)
if [ "$parents" = 3 ] && [ "$(git symbolic-ref HEAD)" = refs/heads/main ] &&
  [ "$(git log -1 --format=%s main^1)" = "Add tax" ] && [ "$(git log -1 --format=%s main^2)" = "Add discounts" ] &&
  [ -z "$(git status --porcelain --untracked-files=no)" ] && [ ! -e .git/MERGE_HEAD ] &&
  [ "$(git show main:NOTES.txt)" = "Discounts are percentages." ] &&
  ! git show main:prices.py | grep -qE '^(<<<<<<<|=======|>>>>>>>)' &&
  git show main:prices.py > /tmp/prices_under_test.py && python3 -I - <<'END'
import runpy
price = runpy.run_path("/tmp/prices_under_test.py")["price"]
assert price(100) == 120.0
assert price(100, discount=10) == 108.0
assert price(19.99, 15) == 20.39
assert price(0.1) == 0.12
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
