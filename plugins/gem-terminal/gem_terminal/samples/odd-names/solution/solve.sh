#!/bin/bash
set -e
python3 - <<'END'
import hashlib, os, re, tarfile
os.makedirs("/app/clean", exist_ok=True)
lines, used = [], {}
with tarfile.open("/app/upload.tar") as archive:
    files = [member for member in archive.getmembers() if member.isfile()]
    for member in sorted(files, key=lambda each: os.fsencode(each.name)):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", member.name.rpartition("/")[2]).lstrip("-._")
        used[name] = used.get(name, 0) + 1
        if used[name] > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem}_{used[name]}.{ending}" if dot else f"{name}_{used[name]}"
        content = archive.extractfile(member).read()
        open(os.path.join("/app/clean", name), "wb").write(content)
        lines.append(f"{name}\t{hashlib.sha256(content).hexdigest()}\n")
open("/app/names.tsv", "w").writelines(sorted(lines))
END
