#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import os, subprocess, tarfile, tempfile
def nobody():
    # A program of the agent must not reach the reward. Some machines have one user only.
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        pass
with tempfile.TemporaryDirectory() as top:
    source = os.path.join(top, "my docs")
    names = ["one.txt", ".profile", "deep/two words.txt", "deep/.x/three", "deep/no.tmp", "last.tmp"]
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
        with open(os.path.join(source, name), "w") as file:
            file.write(name)
    subprocess.run(["chown", "-Rh", "65534:65534", "/app", top])
    def run(*arguments):
        return subprocess.run(
            ["bash", "/app/backup.sh", *arguments],
            cwd=top, preexec_fn=nobody, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
        )
    for given, target in [("my docs", "to here"), (source + "/", os.path.join(top, "a", "b"))]:
        done = run(given, target)
        assert done.returncode == 0, done
        assert done.stdout.strip() == "4", done
        with tarfile.open(os.path.join(top, target, "my docs.tar.gz")) as archive:
            found = {m.name for m in archive.getmembers() if m.isfile()}
            assert archive.extractfile("my docs/deep/.x/three").read() == b"deep/.x/three"
        assert found == {"my docs/" + name for name in names if not name.endswith(".tmp")}, found
    done = run("nowhere", "new")
    assert done.returncode == 2 and done.stderr.strip() and not os.path.exists(os.path.join(top, "new")), done
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
