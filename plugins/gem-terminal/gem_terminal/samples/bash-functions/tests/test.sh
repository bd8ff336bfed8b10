#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import os, subprocess
def nobody():
    # A program of the agent must not reach the reward. Some machines have one user only.
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        pass

def run(script):
    # Each case is a shell of its own: what the library does to it must not decide here.
    command = ["bash", "-c", "set -eu\ncd /\n. /app/lib.sh\n" + script]
    done = subprocess.run(
        command, preexec_fn=nobody, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, (script, done)
    return done.stdout.rstrip("\n")

cases = {
    'trim "  a  b\t "': "a  b",
    'trim "\t*"': "*",
    'trim ""': "",
    'trim " -n "': "-n",
    'join , a "b c" d': "a,b c,d",
    'join " / " "*"': "*",
    "join -": "",
    'join "" a b': "ab",
    "contains b a b c && echo yes": "yes",
    'contains "a b" c "a b" && echo yes': "yes",
    'contains b ab "b c" || echo no': "no",
    "contains . a || echo no": "no",
    "contains a || echo no": "no",
    "max 3 12 7": "12",
    "max -5 -12": "-5",
    "max 0": "0",
    "max || echo failed": "failed",
}
for script, expected in cases.items():
    assert run(script) == expected, (script, run(script))

state = "{ set +o; shopt; pwd; compgen -v | grep -vE '^(_|BASH_|PIPESTATUS|before|after|FUNCNAME)'; } 2>/dev/null"
names = "separator word result best number text item"
script = f"""
for name in {names}; do declare $name=$name; done
before=$({state})
trim x; join , x y; contains x x; max 1 2
after=$({state})
for name in {names}; do echo "${{!name}}"; done
if [ "$before" = "$after" ]; then echo same; else diff <(echo "$before") <(echo "$after"); fi
"""
assert run(script).split() == ["x", "x,y", "2", *names.split(), "same"], run(script)
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
