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
  python3 -I - <<'END'
import json, os, subprocess, sys
def nobody():
    # A program of the agent must not reach the reward. Some machines have one user only.
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        pass
command = ["git", "-c", "safe.directory=*", "show", "main:prices.py"]
program = subprocess.run(command, capture_output=True, text=True, check=True).stdout
# In another process: what the program does to its own must not decide here.
program += "\nimport json\nprint(json.dumps([price(100), price(100, discount=10), price(19.99, 15), price(0.1)]))\n"
done = subprocess.run(
    [sys.executable, "-I", "-c", program],
    cwd="/", preexec_fn=nobody, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
)
assert json.loads(done.stdout) == [120.0, 108.0, 20.39, 0.12], done
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
