#!/bin/bash
mkdir -p /logs/verifier
cd /app/recipes
git() { command git -c safe.directory='*' -c core.fsmonitor=false "$@"; }
if [ "$(git symbolic-ref HEAD)" = refs/heads/main ] &&
  [ "$(git log --format='%ad %s' --date=format:%Y-%m-%d main | sha256sum)" = "579d46517b4afff080bf5603621f5670f30dd96d34e4e646f6170009bf80960f  -" ] &&
  [ "$(git show main:soup.txt | head -1)" = "lentils 200" ] &&
  [ "$(cat soup.txt)" = "$(printf 'lentils 200\ncarrots 2')" ] &&
  [ "$(git show main:pancakes.txt | head -1)" = "milk 300" ] &&
  [ -z "$(git status --porcelain)" ]
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
